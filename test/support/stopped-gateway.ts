import type { ModelServer } from './model-server.ts';
import type { Reader, Target } from './openai-clients.ts';
import type { StackProcess } from './stack.ts';

/** A client's result for an answer whose gateway was stopped midway. */
export type Made = 'the whole' | 'an error' | `a part of ${number} characters`;

/** Sends SIGTERM to a gateway once the model writes for each of its readers, and returns their results. */
export async function stopWhileReading(
  gateway: StackProcess,
  models: ModelServer,
  asking: { readers: readonly Reader[]; target: Omit<Target, 'baseURL'>; spaceId: string; text: string },
): Promise<Record<string, Made>> {
  const { readers, spaceId, text } = asking;
  const target = { ...asking.target, baseURL: `${gateway.url}/api/v1/spaces/${spaceId}/openai` };
  const seen = models.requests.length;
  const reading = Promise.allSettled(readers.map((reader) => reader.read(target, () => undefined)));
  const writes = () => models.requests.slice(seen).filter(({ streamed }) => streamed.length > 20).length;
  while (writes() < readers.length) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await gateway.stop();
  const ends = await reading;
  return Object.fromEntries(readers.map(({ name }, i) => [name, madeOf(ends[i]!, text)]));
}

function madeOf(end: PromiseSettledResult<{ text: string }>, text: string): Made {
  if (end.status === 'rejected') {
    return 'an error';
  }
  return end.value.text === text ? 'the whole' : `a part of ${end.value.text.length} characters`;
}
