import { passChunk, relayBody, withBody, type Pull } from '../../egress/relay-body.ts';

/** A server may send requests of its own in an answer, and wait for what is answered to them. */
const maxOpen = 4;

/**
 * Answers of short requests whose bodies have not ended. The client goes on reading an event stream after the result
 * that it waited for, so a server could leave one open for each request: the oldest ones are ended.
 */
export class OpenAnswers {
  readonly #readers = new Set<ReadableStreamDefaultReader<Uint8Array>>();

  /** @returns the answer, whose body may be ended from here */
  hold(answer: Response): Response {
    if (answer.body === null) {
      return answer;
    }
    const reader = answer.body.getReader();
    this.#readers.add(reader);
    this.#endOldest(maxOpen);
    const ended = () => void this.#readers.delete(reader);
    const pull: Pull = async (...chunk) => {
      if ((await passChunk(...chunk)) === undefined) {
        ended();
      }
    };
    return withBody(answer, relayBody(reader, pull, { onFailure: ended, onCancel: ended }));
  }

  /** Ends all: their limits of time are not waited for. */
  end(): void {
    this.#endOldest(0);
  }

  #endOldest(max: number): void {
    for (const reader of [...this.#readers].slice(0, Math.max(0, this.#readers.size - max))) {
      this.#readers.delete(reader);
      void reader.cancel().catch(() => undefined);
    }
  }
}
