import { BuiltinModel } from '#adapters/embeddings/builtin-model.ts';
import { createEmbedders } from '#adapters/embeddings/create-embedders.ts';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';
import { embeddingModel } from './builtin-weights.ts';

/** Embeds a query with the files of two paths, and prints the result and the state of the model after it. */
const [weights = '', tokenizer = ''] = process.argv.slice(2);
const model = new BuiltinModel({ find: async () => ({ weights, tokenizer }) });
model.start();
await new Promise((resolve) => setTimeout(resolve, 50));
const embedder = createEmbedders({
  builtin: model,
  fetch: () => Promise.reject(new Error('no network')),
  credential: () => undefined,
}).of(embeddingModel());
const result = await embedder.embedQuery('tides', new AbortController().signal).then(
  ({ tokens }) => `${tokens} tokens`,
  (error: unknown) => (error instanceof EmbeddingFailure ? error.code : String(error)),
);
console.log(JSON.stringify({ result, state: model.state }));
model.stop();
process.exit(0);
