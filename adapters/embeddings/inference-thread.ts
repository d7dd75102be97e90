import { readFile } from 'node:fs/promises';
import { Tokenizer } from '@huggingface/tokenizers';
import type { InferenceSession, TypedTensor } from 'onnxruntime-node';
import type { InferenceFault } from './builtin-model.ts';
import type { ModelFiles } from './builtin-package.ts';

export interface InferenceTask {
  files: ModelFiles;
  text: string;
  maxTokens: number;
}

export type Inference =
  | { vector: Float32Array; tokens: number }
  /** `detail`: the code or the name of the error, never its text. */
  | { fault: InferenceFault; detail: string }
  /** The model does not take the text. */
  | { failed: true };

interface LoadedModel {
  tokenizer: Tokenizer;
  session: InferenceSession;
  tensor: (values: readonly number[]) => TypedTensor<'int64'>;
}

class Unloadable extends Error {
  readonly fault: InferenceFault;

  constructor(fault: InferenceFault, cause: unknown) {
    super(fault, { cause });
    this.fault = fault;
  }
}

let loading: Promise<LoadedModel> | undefined;
let loadedFrom = '';

/**
 * Embeds one text; only one at a time, because quantised activations are scaled per batch: neighbours in a batch would
 * change the vector.
 */
export default async function infer({ files, text, maxTokens }: InferenceTask): Promise<Inference> {
  if (loading === undefined || loadedFrom !== files.weights) {
    loadedFrom = files.weights;
    loading = load(files);
  }
  try {
    const model = await loading;
    const ids = tokenIds(model.tokenizer, text, maxTokens);
    const output = await model.session.run({
      input_ids: model.tensor(ids),
      attention_mask: model.tensor(ids.map(() => 1)),
      token_type_ids: model.tensor(ids.map(() => 0)),
    });
    const states = output['last_hidden_state'];
    const [, , dims = 0] = states?.dims ?? [];
    // The vector of the first token, [CLS], stands for the text.
    const vector = unitVector((states?.data as Float32Array | undefined)?.subarray(0, dims));
    Object.values(output).forEach((tensor) => tensor.dispose());
    return { vector, tokens: ids.length };
  } catch (error) {
    loading = undefined;
    if (error instanceof Unloadable) {
      return { fault: error.fault, detail: nameOf(error.cause) };
    }
    return { failed: true };
  }
}

async function load(files: ModelFiles): Promise<LoadedModel> {
  // An optional dependency: imported on demand, so that its absence is a state of the model.
  const runtime = await import('onnxruntime-node').catch((error: unknown) => {
    throw new Unloadable('no_runtime', error);
  });
  try {
    const tokenizer = new Tokenizer(JSON.parse(await readFile(files.tokenizer, 'utf8')) as object, {});
    const session = await runtime.InferenceSession.create(files.weights, {
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      // Plans of memory are kept for each length of text.
      enableMemPattern: false,
      logSeverityLevel: 4,
    });
    const tensor = (values: readonly number[]) =>
      new runtime.Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
    return { tokenizer, session, tensor };
  } catch (error) {
    throw new Unloadable('unreadable_model', error);
  }
}

/** Longest text that the tokenizer reads, in UTF-16 units for each token; more than a token ever has on average. */
const maxUnitsPerToken = 40;

function tokenIds(tokenizer: Tokenizer, text: string, maxTokens: number): number[] {
  const { ids } = tokenizer.encode(text.slice(0, maxTokens * maxUnitsPerToken));
  const last = ids.at(-1);
  // The last token, [SEP], ends every text.
  return ids.length > maxTokens && last !== undefined ? [...ids.slice(0, maxTokens - 1), last] : ids;
}

function unitVector(states: Float32Array | undefined): Float32Array {
  const vector = Float32Array.from(states ?? []);
  const length = Math.hypot(...vector);
  return vector.map((component) => component / length);
}

const nameOf = (error: unknown): string =>
  error instanceof Error ? ('code' in error ? String(error.code) : error.name) : 'unknown';
