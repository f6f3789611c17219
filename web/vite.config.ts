// SPDX-License-Identifier: Apache-2.0
// One file: everything is inlined into report.html, so that it opens from a mail or a file system without requests.
import { defineConfig } from 'vitest/config';
import { viteSingleFile } from 'vite-plugin-singlefile';

export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    outDir: process.env['TILESCOPE_WEB_OUT'] ?? '../build/web',
    emptyOutDir: true,
    target: 'es2022',
    reportCompressedSize: false,
    rollupOptions: { input: 'report.html' },
  },
  test: { environment: 'node', testTimeout: 60_000, hookTimeout: 60_000 },
});
