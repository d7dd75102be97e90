import { createOpenAI } from '@ai-sdk/openai';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { generateText, streamText, type LanguageModel } from 'ai';
import OpenAI from 'openai';

/** The surface's address for a client, and its request. */
export interface Target {
  /** `…/openai` */
  baseURL: string;
  apiKey: string;
  model: string;
  input: string;
}

/** A published client with its default options. */
export interface Reader {
  name: string;
  /** It outputs nothing before the end. */
  waits?: boolean;
  /**
   * `arrived` is called with each piece that the client outputs while it reads; never by clients that wait for
   * JSON.
   */
  read(target: Target, arrived: (piece: string) => void): Promise<Received>;
}

/** The client's joined text, and its view of the end. */
export interface Received {
  text: string;
  end: string | undefined;
}

const openai = ({ baseURL, apiKey }: Target) => new OpenAI({ baseURL, apiKey });

const aiSdk = (make: (target: Target) => LanguageModel) => ({
  stream: async (target: Target, arrived: (piece: string) => void): Promise<Received> => {
    let text = '';
    const result = streamText({ model: make(target), prompt: target.input });
    for await (const piece of result.textStream) {
      text += piece;
      arrived(piece);
    }
    return { text, end: await result.finishReason };
  },
  json: async (target: Target): Promise<Received> => {
    const { text, finishReason } = await generateText({ model: make(target), prompt: target.input });
    return { text, end: finishReason };
  },
});

const vercelOpenAi = aiSdk(({ baseURL, apiKey, model }) => createOpenAI({ baseURL, apiKey })(model));
const openResponses = aiSdk(({ baseURL, apiKey, model }) =>
  createOpenResponses({ name: 'platform', url: `${baseURL}/responses`, apiKey })(model),
);

/** Disconnects after a quarter of the text, and resumes by the response's id. */
async function resumed(target: Target, arrived: (piece: string) => void): Promise<Received> {
  const { model, input } = target;
  const client = openai(target);
  let text = '';
  let place = { id: '', after: -1 };
  const first = client.responses.stream({ model, input });
  for await (const event of first) {
    if (event.type === 'response.created') place = { ...place, id: event.response.id };
    place = { ...place, after: event.sequence_number };
    if (event.type === 'response.output_text.delta') {
      text += event.delta;
      arrived(event.delta);
      if (text.length > 120) break;
    }
  }
  const rest = client.responses.stream({ response_id: place.id, starting_after: place.after });
  for await (const event of rest) {
    if (event.type === 'response.output_text.delta') {
      text += event.delta;
      arrived(event.delta);
    }
  }
  const { output_text: whole, status } = await rest.finalResponse();
  if (whole !== text) throw new Error(`The deltas are not the text: ${text} / ${whole}`);
  return { text, end: status };
}

export const readers: Reader[] = [
  {
    name: 'openai, raw events',
    read: async (target, arrived) => {
      const { model, input } = target;
      const received: Received = { text: '', end: undefined };
      for await (const event of await openai(target).responses.create({ model, input, stream: true })) {
        if (event.type === 'response.output_text.delta') {
          received.text += event.delta;
          arrived(event.delta);
        }
        if (event.type === 'response.completed') received.end = event.response.status;
      }
      return received;
    },
  },
  {
    name: 'openai, .stream()',
    read: async (target, arrived) => {
      const { model, input } = target;
      const stream = openai(target).responses.stream({ model, input });
      stream.on('response.output_text.delta', ({ delta }) => arrived(delta));
      const { output_text: text, status } = await stream.finalResponse();
      return { text, end: status };
    },
  },
  { name: 'openai, .stream() resumed by id', read: resumed },
  {
    name: 'openai, JSON',
    waits: true,
    read: async (target) => {
      const { model, input } = target;
      const { output_text: text, status } = await openai(target).responses.create({ model, input });
      return { text, end: status };
    },
  },
  { name: 'AI SDK streamText with @ai-sdk/openai', read: vercelOpenAi.stream },
  { name: 'AI SDK generateText with @ai-sdk/openai', read: vercelOpenAi.json, waits: true },
  { name: 'AI SDK streamText with @ai-sdk/open-responses', read: openResponses.stream },
  { name: 'AI SDK generateText with @ai-sdk/open-responses', read: openResponses.json, waits: true },
];
