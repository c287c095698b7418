// Makes ctxsim/report/html/plotly-lines-bars.min.js.xz: plotly.js without the components that the page never shows.
//
//   cd FOLDER && npm install plotly.js@3.7.0 esbuild@0.28.2 && node PROJECT/evidence/plotly/build.js plotly.js
//   xz --check=crc32 --lzma2=preset=9e,lc=2,pb=0,nice=273 plotly.js
//
// Plotly looks each component up by name and goes without one that isn't registered.
const path = require("path");
const { readFileSync } = require("fs");
const { createRequire } = require("module");

const here = process.cwd();
const esbuild = createRequire(path.join(here, "_"))("esbuild");
const LEFT_OUT = ["annotations3d", "selections", "images", "updatemenus", "sliders", "rangeslider", "rangeselector", "grid"];
const ENTRY = 'module.exports = require("plotly.js/lib/core"); module.exports.register([require("plotly.js/lib/bar")]);';

const withoutThem = {
  name: "without",
  setup(build) {
    build.onLoad({ filter: /plotly\.js\/src\/core\.js$/ }, ({ path: file }) => {
      let contents = readFileSync(file, "utf8");
      for (const name of LEFT_OUT) {
        const line = `require('./components/${name}'),`;
        if (!contents.includes(line)) throw new Error(`${file} has no ${line}`);
        contents = contents.replace(line, "");
      }
      return { contents, loader: "js" };
    });
  },
};

esbuild
  .build({
    stdin: { contents: ENTRY, resolveDir: here }, outfile: process.argv[2], plugins: [withoutThem],
    bundle: true, minify: true, format: "iife", globalName: "Plotly", target: "es2018", legalComments: "none",
    define: { global: "window" }, loader: { ".css": "empty" },
    banner: { js: "/* plotly.js 3.7.0: lines and bars. Copyright 2012-2026, Plotly, Inc. MIT license. */" },
  })
  .catch(() => process.exit(1));
