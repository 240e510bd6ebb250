// Applies draw files to pictures with the playground's own code, as asked on standard input.
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { runInThisContext } = require("node:vm");

const [folder] = process.argv.slice(2);
for (const name of ["fields.js", "drawfile.js", "draws.js", "operator.js", "settings.js", "python.js"]) {
  runInThisContext(readFileSync(join(folder, name), "utf8"), { filename: name });
}
const fields = defineFields();
const [drawFile, draws, operator] = [defineDrawFile, defineDraws, defineOperator].map((define) =>
  define(fields),
);

/** The result of a draw (a file's text) on a picture (RGB bytes), as numbers (3, H, W). */
function applied({ text, height, width, rgb }) {
  const draw = drawFile.read(text);
  const bytes = Buffer.from(rgb, "base64");
  const rgba = Uint8ClampedArray.from({ length: 4 * height * width }, (_, i) =>
    i % 4 === 3 ? 255 : bytes[3 * Math.floor(i / 4) + (i % 4)],
  );
  const prepared = operator.prepare(draw, height, width);
  const original = operator.toPlanes(draw, rgba);
  let planes = original;
  for (let l = 0; l < draw.repeats; l++) planes = operator.step(prepared, planes, l);
  const result = new Float64Array(3 * height * width);
  operator.finish(draw, original, planes).forEach((plane, channel) => {
    result.set(plane, channel * height * width);
  });
  return Buffer.from(result.buffer).toString("base64");
}

/** What a draw file's reader says of a text. */
function refusal({ text }) {
  try {
    drawFile.read(text);
    return null;
  } catch (error) {
    return error instanceof drawFile.DrawFileError ? error.message : `crashed: ${error}`;
  }
}

/** A draw as the playground makes it, written as a file. */
function drawn({ settings, seed, size }) {
  return drawFile.write(draws.make(settings, seed, size));
}

/** b_Δ for pictures of a size. */
function bound({ height, width }) {
  return draws.offsetBound(height, width);
}

/** The constructor calls of the presets, in Python. */
function presets() {
  return runInThisContext("PRESETS").map(({ method, settings }) => {
    const draw = draws.make({ ...settings, method }, 1, [8, 8]);
    const call = runInThisContext("argumentsOf")(method === "pro", settings, draw.options);
    return `prc.${draw.transform}(${call})`;
  });
}

const tasks = { applied, refusal, drawn, bound, presets };
const requests = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(requests.map(({ task, ...facts }) => tasks[task](facts))));
