import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';
import type { ModelFiles } from './builtin-package.ts';
import { ModelFilesUnavailable, type ModelFilesFault } from './model-files.ts';

/** The runtime is missing or broken on this machine, or it cannot read the weights. */
export type InferenceFault = 'no_runtime' | 'unreadable_model';

export type BuiltinModelState =
  | { is: 'ready'; files: ModelFiles }
  | { is: 'fetching' }
  | { is: 'unavailable'; reason: ModelFilesFault | InferenceFault; detail: string };

export interface BuiltinModelOptions {
  /** Finds or fetches the verified files. @throws `ModelFilesUnavailable` */
  find: (signal: AbortSignal) => Promise<ModelFiles>;
  /** Called at each change of the state. */
  onChange?: (state: BuiltinModelState) => void;
  /** Called for a process that ended before its result or exceeded a limit, at most once a minute. */
  onProcessLost?: (reason: string) => void;
  firstPauseMs?: number;
}

const maxPauseMs = 300_000;
const lossReportMs = 60_000;

/**
 * The builtin model of a process. What is missing is tried again in the background, with growing pauses, until it is
 * there.
 */
export class BuiltinModel {
  readonly #options: BuiltinModelOptions;
  readonly #stop = new AbortController();
  #state: BuiltinModelState = { is: 'fetching' };
  #started = false;
  #pauseMs: number;
  #lossReportedAt = -Infinity;

  constructor(options: BuiltinModelOptions) {
    this.#options = options;
    this.#pauseMs = options.firstPauseMs ?? 5_000;
  }

  get state(): BuiltinModelState {
    return this.#state;
  }

  /** Begins to look for the files, unless it has. */
  start(): void {
    if (!this.#started) {
      this.#started = true;
      void this.#find();
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  /** @throws `EmbeddingFailure` while there are none */
  files(): ModelFiles {
    this.start();
    if (this.#state.is !== 'ready') {
      throw new EmbeddingFailure('unavailable');
    }
    return this.#state.files;
  }

  /** The files are there, and cannot be used here. */
  broken(reason: InferenceFault, detail: string): void {
    if (this.#state.is === 'ready') {
      this.#retryAfter({ is: 'unavailable', reason, detail });
    }
  }

  /** A process that embeds failed without an answer. Its text is tried again, which alone nobody would see. */
  processLost(reason: string): void {
    const now = performance.now();
    if (now - this.#lossReportedAt >= lossReportMs) {
      this.#lossReportedAt = now;
      this.#options.onProcessLost?.(reason);
    }
  }

  /** The model has embedded: a later fault begins with the first pause again. */
  works(): void {
    this.#pauseMs = this.#options.firstPauseMs ?? 5_000;
  }

  async #find(): Promise<void> {
    const signal = this.#stop.signal;
    try {
      this.#set({ is: 'ready', files: await this.#options.find(signal) });
    } catch (error) {
      if (!signal.aborted) {
        const known = error instanceof ModelFilesUnavailable;
        this.#retryAfter({
          is: 'unavailable',
          reason: known ? error.fault : 'cache_not_writable',
          detail: known ? error.detail : error instanceof Error ? error.name : 'unknown',
        });
      }
    }
  }

  #retryAfter(state: BuiltinModelState): void {
    this.#set(state);
    const timer = setTimeout(() => void this.#find(), this.#pauseMs * (0.75 + Math.random() / 2));
    this.#pauseMs = Math.min(2 * this.#pauseMs, maxPauseMs);
    timer.unref();
    this.#stop.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  }

  #set(state: BuiltinModelState): void {
    this.#state = state;
    this.#options.onChange?.(state);
  }
}
