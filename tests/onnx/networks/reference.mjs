// SPDX-License-Identifier: Apache-2.0
// Runs networks by onnxruntime: node reference.mjs FOLDER NAME...
// Reads FOLDER/NAME/model.onnx and inputs.json, writes outputs.json: lists of {name, type, dims, values}.
import { readFileSync, writeFileSync } from "node:fs";
import { InferenceSession, Tensor } from "onnxruntime-node";

const arrays = { float32: Float32Array, int64: BigInt64Array };
const [folder, ...names] = process.argv.slice(2);
for (const name of names) {
  const session = await InferenceSession.create(`${folder}/${name}/model.onnx`, {
    intraOpNumThreads: 1,
    executionProviders: ["cpu"],
  });
  const inputs = JSON.parse(readFileSync(`${folder}/${name}/inputs.json`, "utf8"));
  const feeds = {};
  for (const { name: tensor, type, dims, values } of inputs) {
    const data = arrays[type].from(type === "int64" ? values.map(BigInt) : values);
    feeds[tensor] = new Tensor(type, data, dims);
  }
  const results = await session.run(feeds);
  const outputs = session.outputNames.map((tensor) => {
    const { type, dims, data } = results[tensor];
    return { name: tensor, type, dims, values: Array.from(data, Number) };
  });
  writeFileSync(`${folder}/${name}/outputs.json`, JSON.stringify(outputs));
}
