// SPDX-License-Identifier: Apache-2.0
// What the tests' precompiled headers are made with (tests/tilescope_test.cmake).
