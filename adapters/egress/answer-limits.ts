/** Size limits and timeouts of one answer. */
export interface AnswerLimits {
  /** After inflation. */
  maxBytes: number;
  /** Of one server-sent event, and so of one line; null: the answer is not an event stream. */
  maxEventBytes: number | null;
  /** Max JSON values in one event: a few bytes of text may become hundreds of bytes of memory. */
  maxEventValues: number | null;
  /** null: unlimited within `maxBytes`. */
  maxEvents: number | null;
  /** An answer of status 400 or above is truncated here; null: it has no limit of its own. */
  maxErrorBytes: number | null;
  /** From the request to the answer's headers; informational headers do not count. */
  headersMs: number;
  /** Max time between two chunks of the body. */
  idleMs: number;
  /** From the request to the last byte; null: the caller has a deadline. */
  totalMs: number | null;
}

const KiB = 1_024;
const MiB = 1_048_576;

/** Purposes for which a process calls servers of third parties. */
export type AnswerUse = keyof typeof answerLimits;

/** Limits of an answer that is not an event stream, with one timeout for all its parts. */
const oneDocumentWithin = (ms: number) => ({
  maxEventBytes: null,
  maxEventValues: null,
  maxEvents: null,
  headersMs: ms,
  idleMs: ms,
  totalMs: ms,
});

export const answerLimits = {
  /** The longest timeout, for models that reason; `idle-limit.ts` sets a shorter one for other models. */
  model: {
    maxBytes: 256 * MiB,
    maxEventBytes: 4 * MiB,
    maxEventValues: 250_000,
    maxEvents: null,
    maxErrorBytes: 64 * KiB,
    headersMs: 300_000,
    idleMs: 300_000,
    totalMs: null,
  },
  /** A server that answers with JSON sends no headers before its tool is done: the client's own timeout is shorter. */
  tool_server: {
    maxBytes: 16 * MiB,
    maxEventBytes: 4 * MiB,
    maxEventValues: 250_000,
    maxEvents: 10_000,
    maxErrorBytes: 64 * KiB,
    headersMs: 65_000,
    idleMs: 600_000,
    totalMs: null,
  },
  identity_provider: {
    maxBytes: 64 * KiB,
    maxErrorBytes: null,
    ...oneDocumentWithin(5_000),
  },
  /** Issues tokens for client credentials. */
  token_endpoint: {
    maxBytes: 64 * KiB,
    maxErrorBytes: 64 * KiB,
    ...oneDocumentWithin(10_000),
  },
  /** Metadata, registrations and tokens of the authorization servers of tool servers. */
  authorization_server: {
    maxBytes: 64 * KiB,
    maxErrorBytes: 64 * KiB,
    ...oneDocumentWithin(10_000),
  },
  /** Only the status of the answer is used. */
  tracing: {
    maxBytes: 64 * KiB,
    maxErrorBytes: 64 * KiB,
    ...oneDocumentWithin(10_000),
  },
  name_recogniser: {
    maxBytes: 4 * MiB,
    maxErrorBytes: 64 * KiB,
    ...oneDocumentWithin(10_000),
  },
  /** 128 vectors of 4,096 dimensions, as JSON that is indented. */
  embedding: {
    maxBytes: 24 * MiB,
    maxErrorBytes: 64 * KiB,
    ...oneDocumentWithin(60_000),
  },
  /** Scores of 100 passages, which some servers repeat. */
  reranking: {
    maxBytes: 4 * MiB,
    maxErrorBytes: 64 * KiB,
    ...oneDocumentWithin(10_000),
  },
  /** Pages, files and listings of the sources of connectors. */
  source: {
    maxBytes: 104 * MiB,
    maxErrorBytes: 64 * KiB,
    ...oneDocumentWithin(30_000),
    totalMs: 300_000,
  },
  /**
   * The stream on which the source of a connector reports changes. It may be silent for all of its time: a connection
   * that is dead is found by the operating system. Its reader sets the pace, so bytes and events are few for each second.
   */
  change_stream: {
    maxBytes: 256 * MiB,
    maxEventBytes: 64 * KiB,
    maxEventValues: 1_000,
    maxEvents: null,
    maxErrorBytes: 64 * KiB,
    headersMs: 30_000,
    idleMs: 28_800_000,
    totalMs: 28_800_000,
  },
  /** The package of the builtin embedding model, from an address that the operator has chosen. */
  model_files: {
    maxBytes: 64 * MiB,
    maxErrorBytes: 64 * KiB,
    ...oneDocumentWithin(30_000),
    totalMs: 600_000,
  },
} satisfies Record<string, AnswerLimits>;

/** Timeout for the rest of an error answer, whose status is already known. */
export const errorBodyMs = 5_000;
