// SPDX-License-Identifier: Apache-2.0
#ifndef TILESCOPE_DRAM_PLUGIN_H
#define TILESCOPE_DRAM_PLUGIN_H
/* A memory of yours behind the simulator's last cache: a shared library that defines what is declared here, named by
 * the key `memory.dram.model` of a chip's YAML file. Plain C; link against nothing of Tilescope.
 *
 *     g++ -std=c++17 -shared -fPIC -o memory.so memory.cc
 *
 * Times are clocks of the level's `clock`, from 0. No data are carried, only addresses. Calls come from one thread. Two
 * memories may live in one process, one for each simulation. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__) /* the functions are looked up by name, however the library is compiled */
#pragma GCC visibility push(default)
#endif

#define TILESCOPE_DRAM_VERSION 1

/* What the chip's file says of the level. Later versions add members behind these. */
typedef struct tilescope_dram_config {
  const char* chip;    /* its name, for messages; yours until tilescope_dram_create returns */
  double clock_hz;     /* of the level */
  int64_t channels;    /* with a data bus of their own */
  int64_t burst_bytes; /* that every request's address and size are multiples of */
  int64_t line_bytes;  /* of the cache before the memory; a request lies within one line */
  int64_t capacity;    /* bytes; 0 where the file does not say */
} tilescope_dram_config;

typedef struct tilescope_dram_request_t {
  uint64_t id;
  uint64_t address;
  uint32_t bytes;
  uint8_t write;   /* 1: a write, answered when the memory has done it */
  uint8_t partial; /* 1: a write of a part of what the level's `write_granule` says is written whole */
  int64_t arrival; /* not before the `until` of the last advance */
} tilescope_dram_request_t;

typedef struct tilescope_dram_answer_t {
  uint64_t id;
  int64_t done; /* its last byte has left the bus: not before it arrived, nor before the `until` of the last advance */
  uint8_t row_hit; /* 1: for statistics, no row was opened for it */
} tilescope_dram_answer_t;

/* Define it as TILESCOPE_DRAM_VERSION. */
extern const uint32_t tilescope_dram_version;

/* A memory; NULL, and a sentence in `error`, where there is none for such a level. */
void* tilescope_dram_create(const tilescope_dram_config* config, char* error, size_t error_bytes);
/* Takes requests, in the order in which the caches made them; arrivals may be in another. */
void tilescope_dram_request(void* memory, const tilescope_dram_request_t* requests, size_t count);
/* Decides what happens before `until`, when all that arrives until then has been requested. Writes what it has decided
 * into `answers`, at most `capacity` of them, which are enough, and returns how many. Every request is answered once,
 * within a million clocks; `done` may be `until` or later. */
size_t tilescope_dram_advance(void* memory, int64_t until, tilescope_dram_answer_t* answers, size_t capacity);
void tilescope_dram_destroy(void* memory);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
