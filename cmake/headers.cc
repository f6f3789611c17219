// SPDX-License-Identifier: Apache-2.0
// What the precompiled headers are made with (cmake/tilescope_folder.cmake).
