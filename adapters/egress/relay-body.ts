export type Pull = (
  reader: ReadableStreamDefaultReader<Uint8Array>,
  controller: ReadableStreamDefaultController<Uint8Array>,
) => Promise<void>;

/** The next chunk, or the end. @returns the chunk */
export async function passChunk(...[reader, controller]: Parameters<Pull>): Promise<Uint8Array | undefined> {
  const { value } = await reader.read();
  if (value === undefined) {
    controller.close();
  } else {
    controller.enqueue(value);
  }
  return value;
}

interface Endings {
  onFailure: (error: unknown) => void;
  onCancel?: () => void;
}

/** A body that passes through `pull`: a chunk is read when the consumer requests it, and none ahead. */
export function relayBody(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  pull: Pull,
  { onFailure, onCancel }: Endings,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          await pull(reader, controller);
        } catch (error) {
          onFailure(error);
          throw error;
        }
      },
      cancel: (reason) => {
        onCancel?.();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The answer with another body. */
export function withBody({ status, statusText, headers }: Response, body: ReadableStream): Response {
  return new Response(body, { status, statusText, headers: [...headers] });
}
