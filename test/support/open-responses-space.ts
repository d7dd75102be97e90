import {
  openResponsesEvent,
  openResponsesItem,
  openResponsesResource,
  problemsOf,
} from './open-responses-schema.ts';
import { splitFrames } from './sse-frames.ts';
import type { Json } from './stream-events.ts';

export interface SpaceOnSurface {
  /** The types of the output items of all responses, sorted. */
  items: string[];
  /** Violations of Open Responses, one line each. */
  problems: string[];
}

/** Reads every response of a space as clients of the OpenAI surface do: as an object, as a stream and its input. */
export async function readOnSurface(space: { url: string; apiKey: string }): Promise<SpaceOnSurface> {
  const get = async (path: string) => {
    const answer = await fetch(`${space.url}/${path}`, { headers: { 'X-API-Key': space.apiKey } });
    return Buffer.from(await answer.arrayBuffer());
  };
  const json = async (path: string) => JSON.parse((await get(path)).toString()) as Json;
  const items = new Set<string>();
  const problems: string[] = [];
  const check = (schema: Parameters<typeof problemsOf>[0], value: Json) => {
    problems.push(...problemsOf(schema, value).map((problem) => `${String(value['type'])} ${problem}`));
  };
  const { data } = (await json('responses?limit=100')) as { data: { id: string }[] };
  for (const { id } of data) {
    const object = await json(`openai/responses/${id}`);
    check(openResponsesResource, object);
    (object['output'] as Json[]).forEach(({ type }) => items.add(String(type)));
    const { frames } = splitFrames(await get(`openai/responses/${id}?stream=true`));
    frames.forEach(({ json: event }) => event !== undefined && check(openResponsesEvent, event));
    const input = (await json(`openai/responses/${id}/input_items`)) as { data: Json[] };
    input.data.forEach((item) => check(openResponsesItem, item));
  }
  return { items: [...items].toSorted(), problems };
}
