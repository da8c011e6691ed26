import { defineConfig } from "vite";

// The names of the files stay the same from build to build: the server has them in its list, and a change shows as an
// edit. What changed is told by the ETag.
export default defineConfig({
  base: "/studio/",
  build: {
    outDir: "../crates/server/studio-dist",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: "assets/index.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/index[extname]",
      },
    },
  },
  server: { proxy: { "/v1": "http://127.0.0.1:7654", "/readyz": "http://127.0.0.1:7654" } },
});
