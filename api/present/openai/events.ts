import type { RenderEvent } from '#api/sse/response-stream.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import type { ResponseRequest } from '#domain/responses/record/response-request.ts';
import { presentOpenAiResponse, presentSettings } from './response.ts';

interface LifecycleEvent {
  type: string;
  sequence_number: number;
  response: ResponseRecord;
}

/**
 * Renders a response's stored events for OpenAI's clients, with the same numbers. Only events that carry the response
 * are rendered again; the many small events pass unchanged.
 */
export function openAiEvents(request: ResponseRequest): RenderEvent {
  const settings = presentSettings(request);
  return (line, type) => {
    if (type.startsWith('platform.')) {
      return null;
    }
    if (!isLifecycle(type)) {
      return { type, line };
    }
    const event = JSON.parse(line) as LifecycleEvent;
    // An unknown event type would stop clients that know only OpenAI's types.
    const shown = type === 'response.cancelled' ? 'response.incomplete' : type;
    return {
      type: shown,
      line: JSON.stringify({
        type: shown,
        sequence_number: event.sequence_number,
        response: presentOpenAiResponse(event.response, settings),
      }),
    };
  };
}

/** Whether the type is `response.` and one word: an event of the response itself, not of a part. */
function isLifecycle(type: string): boolean {
  return type.indexOf('.') === type.lastIndexOf('.');
}
