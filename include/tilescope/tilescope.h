// SPDX-License-Identifier: Apache-2.0
#ifndef TILESCOPE_TILESCOPE_H
#define TILESCOPE_TILESCOPE_H
/* Tilescope as a library: the interface of libtilescope.so in C. tilescope.hpp is the same in C++, with objects that
 * free themselves.
 *
 * A chip, what is to be computed, and options are objects; every question about them is answered by a table. Names of
 * columns, their units and their sentences are those of the command line's documents.
 *
 * Texts are UTF-8. A function that cannot do its work returns NULL, or the value that it names, and appends the reasons
 * to `messages`; NULL for `messages` drops them. No exception passes this interface. Objects may be used by several
 * threads at a time as long as none of them is freed; messages and options only by one thread. Functions that simulate
 * fork worker processes. */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TILESCOPE_API __attribute__((visibility("default")))
#else
#define TILESCOPE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tilescope_messages tilescope_messages;
typedef struct tilescope_chip tilescope_chip;
typedef struct tilescope_work tilescope_work;
typedef struct tilescope_options tilescope_options;
typedef struct tilescope_table tilescope_table;

/* The version of the library, as in 0.1.0. */
TILESCOPE_API const char* tilescope_version(void);

/* Frees a text that a function returned as char*. */
TILESCOPE_API void tilescope_free(char* text);

/* --- messages: what is wrong with an input, and what its author should know */

typedef struct tilescope_message {
  int is_error;      /* else a note */
  const char* input; /* the file, or the argument, as in "set memory.smem.banks" */
  uint32_t line;     /* from 1; 0: the input as a whole */
  uint32_t column;   /* from 1, in bytes */
  const char* text;
} tilescope_message;

TILESCOPE_API tilescope_messages* tilescope_messages_new(void);
TILESCOPE_API void tilescope_messages_free(tilescope_messages* messages);
TILESCOPE_API size_t tilescope_messages_count(const tilescope_messages* messages);
/* The texts live as long as the messages. */
TILESCOPE_API tilescope_message tilescope_messages_at(const tilescope_messages* messages, size_t index);

/* --- chips */

/* The devices that come with Tilescope: device, title, class, path. */
TILESCOPE_API tilescope_table* tilescope_devices(tilescope_messages* messages);

/* A device by its name, or the chip of a YAML file. */
TILESCOPE_API tilescope_chip* tilescope_chip_open(const char* name_or_file, tilescope_messages* messages);
/* The chip of a YAML text, which messages call `name`. */
TILESCOPE_API tilescope_chip* tilescope_chip_read(const char* yaml, const char* name, tilescope_messages* messages);
/* A copy in which the value at the path is changed, as in ("memory.smem.banks", "64"); what is derived follows. */
TILESCOPE_API tilescope_chip* tilescope_chip_with(const tilescope_chip* chip, const char* path, const char* value,
                                                  tilescope_messages* messages);
TILESCOPE_API void tilescope_chip_free(tilescope_chip* chip);
TILESCOPE_API const char* tilescope_chip_name(const tilescope_chip* chip);
/* The value at a path of the chip's file, JSON. */
TILESCOPE_API char* tilescope_chip_value(const tilescope_chip* chip, const char* path, tilescope_messages* messages);
/* The whole chip with what is derived, JSON, as `tilescope arch show --json` prints it. */
TILESCOPE_API char* tilescope_chip_document(const tilescope_chip* chip);
/* Area and price of the chip by part. The table's document has the sums; errors name what the chip's file lacks. */
TILESCOPE_API tilescope_table* tilescope_chip_area(const tilescope_chip* chip, tilescope_messages* messages);
TILESCOPE_API tilescope_table* tilescope_chip_price(const tilescope_chip* chip, tilescope_messages* messages);

/* --- work: what a chip is to compute */

/* An operator in index notation, as in ("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512", "", "f16"). `shapes` of
 * inputs may be empty where they follow from the sizes; an empty `dtype` is f32. */
TILESCOPE_API tilescope_work* tilescope_work_operator(const char* expression, const char* sizes, const char* shapes,
                                                      const char* dtype, tilescope_messages* messages);
/* A suite of operators by its name or YAML file, with values of its variables. */
TILESCOPE_API tilescope_work* tilescope_work_suite(const char* name_or_file, const char* sizes, const char* dtype,
                                                   tilescope_messages* messages);
/* A network by its name, its YAML file or its ONNX file, with values of its variables. */
TILESCOPE_API tilescope_work* tilescope_work_network(const char* name_or_file, const char* sizes, const char* dtype,
                                                     tilescope_messages* messages);
/* Programs that exist: JSON lines, a program each, which messages call `name`. */
TILESCOPE_API tilescope_work* tilescope_work_programs(const char* json_lines, const char* name,
                                                      tilescope_messages* messages);
TILESCOPE_API void tilescope_work_free(tilescope_work* work);
/* The work in words. */
TILESCOPE_API const char* tilescope_work_title(const tilescope_work* work);

/* --- options */

/* Every option: option, usual (its value where it is not set), about. */
TILESCOPE_API tilescope_table* tilescope_options_known(tilescope_messages* messages);
TILESCOPE_API tilescope_options* tilescope_options_new(void);
TILESCOPE_API void tilescope_options_free(tilescope_options* options);
/* Returns 0, or -1 where there is no such option or value. */
TILESCOPE_API int tilescope_options_set(tilescope_options* options, const char* name, const char* value,
                                        tilescope_messages* messages);
/* Called while a question is answered, at times from another thread, never from two at a time. Where it returns other
 * than 0, a sweep ends in good order; all other work goes on. */
typedef int (*tilescope_progress)(size_t done, size_t all, void* user);
TILESCOPE_API void tilescope_options_progress(tilescope_options* options, tilescope_progress progress, void* user);

/* --- questions. `options` may be NULL. */

/* The best programs of every operator, best first, with predicted times; of a network, its groups of nodes. */
TILESCOPE_API tilescope_table* tilescope_construct(const tilescope_work* work, const tilescope_chip* chip,
                                                   const tilescope_options* options, tilescope_messages* messages);
/* Predicted times: of given programs, else of the best program of every operator. */
TILESCOPE_API tilescope_table* tilescope_predict(const tilescope_work* work, const tilescope_chip* chip,
                                                 const tilescope_options* options, tilescope_messages* messages);
/* Simulated times, next to the predicted ones. */
TILESCOPE_API tilescope_table* tilescope_simulate(const tilescope_work* work, const tilescope_chip* chip,
                                                  const tilescope_options* options, tilescope_messages* messages);
/* Whether programs compute what their expression says, and do what model and simulator count; takes a C++ compiler. */
TILESCOPE_API tilescope_table* tilescope_verify(const tilescope_work* work, const tilescope_chip* chip,
                                                const tilescope_options* options, tilescope_messages* messages);
/* How times depend on every number of the chip, the strongest first. */
TILESCOPE_API tilescope_table* tilescope_explain(const tilescope_work* work, const tilescope_chip* chip,
                                                 const tilescope_options* options, tilescope_messages* messages);
/* Runs the sweep of a YAML file into a store, or goes on with it. Returns the number of rows that were computed, -1
 * after errors. */
TILESCOPE_API int64_t tilescope_sweep(const char* file, const char* store, const tilescope_options* options,
                                      tilescope_messages* messages);
/* All rows of a stored sweep. `title` may be empty where the store has one sweep. */
TILESCOPE_API tilescope_table* tilescope_store_read(const char* store, const char* title, tilescope_messages* messages);

/* --- tables */

typedef struct tilescope_column {
  const char* name;  /* unique in the table; ends in its unit, as in predicted_us */
  const char* unit;  /* empty where there is none */
  const char* about; /* a sentence */
} tilescope_column;

enum tilescope_kind {
  TILESCOPE_ABSENT = 0,
  TILESCOPE_NUMBER = 1,
  TILESCOPE_INTEGER = 2,
  TILESCOPE_TRUTH = 3, /* a number, 0 or 1 */
  TILESCOPE_TEXT = 4,
  TILESCOPE_DOCUMENT = 5 /* a text, JSON */
};

TILESCOPE_API void tilescope_table_free(tilescope_table* table);
TILESCOPE_API size_t tilescope_table_rows(const tilescope_table* table);
TILESCOPE_API size_t tilescope_table_columns(const tilescope_table* table);
/* The texts live as long as the table. */
TILESCOPE_API tilescope_column tilescope_table_column(const tilescope_table* table, size_t column);
/* The column of that name; SIZE_MAX where there is none. */
TILESCOPE_API size_t tilescope_table_find(const tilescope_table* table, const char* name);
TILESCOPE_API enum tilescope_kind tilescope_table_kind(const tilescope_table* table, size_t row, size_t column);
/* The kinds of a column's cells: bit 1 << kind is set for each, but for TILESCOPE_ABSENT. */
TILESCOPE_API unsigned tilescope_table_kinds(const tilescope_table* table, size_t column);
/* NaN where the cell is no number. */
TILESCOPE_API double tilescope_table_number(const tilescope_table* table, size_t row, size_t column);
/* The number of a column of that name, NaN where there is none: fast for a table of which little is read. */
TILESCOPE_API double tilescope_table_number_of(const tilescope_table* table, size_t row, const char* name);
/* NULL where the cell is no text and no document. Lives as long as the table. */
TILESCOPE_API const char* tilescope_table_text(const tilescope_table* table, size_t row, size_t column);
/* A whole column: writes rows() numbers, NaN where a cell is none. */
TILESCOPE_API void tilescope_table_numbers(const tilescope_table* table, size_t column, double* out);
/* A whole column of texts: writes rows() indices into its different texts, -1 where a cell is none. */
TILESCOPE_API void tilescope_table_text_indices(const tilescope_table* table, size_t column, int32_t* out);
TILESCOPE_API size_t tilescope_table_text_count(const tilescope_table* table, size_t column);
TILESCOPE_API const char* tilescope_table_text_at(const tilescope_table* table, size_t column, size_t index);
/* The whole answer, JSON, as the command line prints it with --json. */
TILESCOPE_API char* tilescope_table_document(const tilescope_table* table);
/* The programs of a table that has some, as JSON lines for tilescope_work_programs; else NULL. */
TILESCOPE_API char* tilescope_table_programs(const tilescope_table* table);

#ifdef __cplusplus
}
#endif

#endif
