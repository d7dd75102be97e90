/** The answer with a body whose failure is reported: the client drops the cause. */
export function notingBreak(answer: Response, onBreak: () => void): Response {
  if (answer.body === null) {
    return answer;
  }
  const reader = answer.body.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { value } = await reader.read();
          if (value === undefined) {
            controller.close();
          } else {
            controller.enqueue(value);
          }
        } catch (error) {
          onBreak();
          throw error;
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const { status, statusText, headers } = answer;
  return new Response(body, { status, statusText, headers: [...headers] });
}
