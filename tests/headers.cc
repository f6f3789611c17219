// What the tests' precompiled headers are made with (tests/tilescope_test.cmake).
