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
 * Shows a response's stored events to OpenAI's clients, with the same numbers. Only events that carry the
 * response are made anew; the many small ones pass as they are stored.
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
    // A type of its own would stop clients that know only OpenAI's.
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

/** `response.` and one word: the response itself, and not a part of it. */
function isLifecycle(type: string): boolean {
  return type.indexOf('.') === type.lastIndexOf('.');
}
