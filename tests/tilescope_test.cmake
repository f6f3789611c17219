# SPDX-License-Identifier: Apache-2.0
# One test program of the house, and one benchmark.
#
#   tilescope_test(NAME base_test LABEL unit SOURCES units_test.cc ... LINKS base)
#   tilescope_benchmark(NAME model_benchmark SOURCES model_benchmark.cc LINKS model)

# Tests find files by the functions of tests/support/paths.h, which read these.
add_library(tilescope_test_support INTERFACE)
target_link_libraries(tilescope_test_support INTERFACE tilescope_flags)
target_compile_definitions(tilescope_test_support INTERFACE
  TILESCOPE_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}"
  TILESCOPE_SHARED_FOLDER="${TILESCOPE_SHARED}"
  TILESCOPE_BINARY="${PROJECT_BINARY_DIR}/tilescope"
  TILESCOPE_FAKE_DRIVER="${PROJECT_BINARY_DIR}/tests/fake_driver")

# What most of a test's compilation goes to is parsed once. A test whose options differ would read the headers as text,
# which takes three seconds a source: the warning is an error. Programs and this object library differ in the option for
# position-independent code, so both leave it to the compiler.
set(CMAKE_PCH_WARN_INVALID ON)
unset(CMAKE_POSITION_INDEPENDENT_CODE)
# -fpch-preprocess is for ccache; g++ 12 with -O1 takes short strings that are joined for arrays that are too short.
set(TILESCOPE_TEST_OPTIONS $<$<CONFIG:Release>:-O1>
  $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
add_library(tilescope_test_headers OBJECT headers.cc)
target_link_libraries(tilescope_test_headers PRIVATE
  GTest::gtest GTest::gmock rapidcheck rapidcheck_gtest fmt::fmt tilescope_test_support)
target_compile_options(tilescope_test_headers PRIVATE ${TILESCOPE_TEST_OPTIONS})
target_precompile_headers(tilescope_test_headers PRIVATE
  <gmock/gmock.h> <gtest/gtest.h> <rapidcheck.h> <rapidcheck/gtest.h> ${TILESCOPE_PRECOMPILED})

# Messages name options as the command line does.
add_library(tilescope_test_spelling OBJECT ${CMAKE_CURRENT_LIST_DIR}/support/spell_options.cc)
target_link_libraries(tilescope_test_spelling PRIVATE tilescope_flags)

# Kernels that tests compile are kept in the build tree: no test depends on what its user compiled before.
set(TILESCOPE_TEST_ENVIRONMENT "TILESCOPE_CACHE=${PROJECT_BINARY_DIR}/kernel-cache")

set(TILESCOPE_TEST_LABELS unit error contract golden agree cli gpu perf)

# Every TEST is a test of ctest; one that calls GTEST_SKIP is listed as skipped and not as passed (gtest_discover_tests
# sees to that). Its name is what --gtest_filter takes: values of parameters hold addresses.
function(tilescope_test)
  cmake_parse_arguments(ARG "" "NAME;LABEL" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_LABEL IN_LIST TILESCOPE_TEST_LABELS)
    message(FATAL_ERROR "${ARG_NAME}: label '${ARG_LABEL}' is none of: ${TILESCOPE_TEST_LABELS}")
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES} $<TARGET_OBJECTS:tilescope_test_spelling>)
  target_link_libraries(${ARG_NAME} PRIVATE
    GTest::gtest_main GTest::gmock rapidcheck rapidcheck_gtest fmt::fmt tilescope_test_support ${ARG_LINKS} base)
  target_compile_options(${ARG_NAME} PRIVATE ${TILESCOPE_TEST_OPTIONS})
  target_precompile_headers(${ARG_NAME} REUSE_FROM tilescope_test_headers)
  set_target_properties(${ARG_NAME} PROPERTIES UNITY_BUILD ${TILESCOPE_UNITY})
  set(alone FALSE)
  if(ARG_LABEL STREQUAL perf)  # a time measured beside another test is none
    set(alone TRUE)
  endif()
  gtest_discover_tests(${ARG_NAME} DISCOVERY_TIMEOUT 120 NO_PRETTY_VALUES
    PROPERTIES LABELS ${ARG_LABEL} RUN_SERIAL ${alone} TIMEOUT 600 ENVIRONMENT "${TILESCOPE_TEST_ENVIRONMENT}")
endfunction()

# Benchmarks print their figures; whether a figure is good enough is for a test of label perf to say.
function(tilescope_benchmark)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;LINKS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE
    benchmark::benchmark_main benchmark::benchmark tilescope_test_support ${ARG_LINKS})
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  set_tests_properties(${ARG_NAME} PROPERTIES
    LABELS perf RUN_SERIAL TRUE TIMEOUT 600 ENVIRONMENT "${TILESCOPE_TEST_ENVIRONMENT}")
endfunction()
