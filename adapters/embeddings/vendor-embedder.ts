import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';
import { EmbeddingFailure, type Embedder } from '#domain/knowledge/embeddings/embedder.ts';
import type { EmbeddingModel } from '#domain/knowledge/embeddings/embedding-model.entity.ts';
import { sharedConnection } from '../models/shared-connection.ts';
import type { VendorConnection } from '../models/vendor-connection.ts';
import { connectionOf, type VendorOptions } from '../models/vendor-gateway.ts';
import { batchesOf } from './vendor-batches.ts';
import type { EmbeddingDialect, EmbeddingPurpose } from './vendor-dialects.ts';
import { failureOfStatus, toEmbeddingFailure, UnreadableAnswer } from './vendor-failures.ts';
import type { VendorPauses } from './vendor-pauses.ts';
import type { VendorShares } from './vendor-shares.ts';

interface VendorEmbedding {
  model: EmbeddingModel;
  dialect: EmbeddingDialect;
  options: VendorOptions;
  pauses: VendorPauses;
  shares: VendorShares;
}

interface Embedded {
  vectors: Float32Array[];
  tokens: number;
}

/** An embedding model of a vendor, or of a server with a vendor's interface. */
export function vendorEmbedder(vendor: VendorEmbedding): Embedder {
  const { model, dialect } = vendor;
  const { providerKind, providerModel, dims, maxTokens } = model;
  const embed = async (
    texts: readonly string[],
    purpose: EmbeddingPurpose,
    signal: AbortSignal,
  ): Promise<Embedded> => {
    const prefix = purpose === 'query' ? model.queryPrefix : model.passagePrefix;
    const prefixed = texts.map((text) => prefix + text);
    const batches = batchesOf(prefixed, { maxTexts: dialect.maxTexts, maxTokens });
    return vendor.shares.run(purpose, model.tenantId, signal, async () => {
      const vectors: Float32Array[] = [];
      let tokens = 0;
      for (const batch of batches) {
        const embedded = await request(vendor, batch, purpose, signal);
        vectors.push(...embedded.vectors);
        tokens += embedded.tokens;
      }
      return { vectors, tokens };
    });
  };
  return {
    id: `${providerKind}/${providerModel}/${dims}`,
    dims,
    maxTokens,
    passagesPerCall: 64,
    embedQuery: async (text, signal) => {
      const { vectors, tokens } = await embed([text], 'query', signal);
      const [vector = new Float32Array(dims)] = vectors;
      return { vector, tokens };
    },
    embedPassages: (texts, signal) => embed(texts, 'passage', signal),
  };
}

async function request(
  vendor: VendorEmbedding,
  texts: readonly string[],
  purpose: EmbeddingPurpose,
  signal: AbortSignal,
): Promise<Embedded> {
  signal.throwIfAborted();
  const { model, dialect, options, pauses } = vendor;
  try {
    const connection = await connectionOf(sharedConnection(model), dialect, options, 'embedding');
    return await pauses.heed({ model, connection }, () =>
      ask(vendor, connection, { texts, purpose, signal }),
    );
  } catch (error) {
    signal.throwIfAborted();
    throw toEmbeddingFailure(error);
  }
}

interface Asked {
  texts: readonly string[];
  purpose: EmbeddingPurpose;
  signal: AbortSignal;
}

async function ask(
  { model, dialect }: VendorEmbedding,
  { baseURL, apiKey, fetch }: VendorConnection,
  { texts, purpose, signal }: Asked,
): Promise<Embedded> {
  const { path, body } = dialect.request(model, texts, purpose);
  const answer = await fetch(baseURL.replace(/\/$/, '') + path, {
    method: 'POST',
    headers: [['content-type', 'application/json'], ...(apiKey === '' ? [] : [dialect.keyHeader(apiKey)])],
    body: JSON.stringify(body),
    signal,
  });
  if (answer.status !== 200) {
    throw await failureOfStatus(answer);
  }
  const { vectors, tokens } = await read(answer, dialect, texts.length * model.dims);
  if (vectors.length !== texts.length) {
    throw new EmbeddingFailure('malformed');
  }
  return {
    vectors: vectors.map((vector) => unitVector(vector, model.dims)),
    tokens: Math.min(
      tokens ?? texts.reduce((sum, text) => sum + estimateTokens(text), 0),
      texts.reduce((sum, text) => sum + Buffer.byteLength(text) + bytesBesideText, 0),
    ),
  };
}

/** Marks around a text; no text has more tokens than bytes, whatever a server counts. */
const bytesBesideText = 64;
/** Digits of a double, with indentation: longer answers would take seconds to parse, and much memory. */
const maxUnitsPerComponent = 48;
/** What an answer has beside its vectors, such as the names of its fields. */
const maxUnitsBeside = 65_536;

async function read(
  answer: Response,
  dialect: EmbeddingDialect,
  components: number,
): Promise<ReturnType<EmbeddingDialect['read']>> {
  const text = await answer.text();
  if (text.length > components * maxUnitsPerComponent + maxUnitsBeside) {
    throw new UnreadableAnswer();
  }
  try {
    return dialect.read(JSON.parse(text));
  } catch {
    throw new UnreadableAnswer();
  }
}

/** @throws EmbeddingFailure for other dimensions, or without a direction */
function unitVector(components: readonly number[], dims: number): Float32Array {
  const length = Math.sqrt(components.reduce((sum, component) => sum + component * component, 0));
  if (components.length !== dims || !Number.isFinite(length) || length === 0) {
    throw new EmbeddingFailure('malformed');
  }
  return Float32Array.from(components, (component) => component / length);
}
