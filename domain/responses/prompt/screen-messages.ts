import type { PromptMessage } from '#domain/capabilities/models/model-gateway.ts';
import { withoutHidden } from '#domain/foundation/kernel/hidden-text.ts';
import type { Redactor } from '#domain/governance/redaction/redact.ts';

/**
 * The messages of a prompt with tokens in place of personal data.
 * @param published the open message as readers have it; it is continued character by character, so it is not screened
 */
export function screenMessages(
  messages: readonly PromptMessage[],
  published: string,
  redactor: Redactor,
): PromptMessage[] {
  const lastQuestion = messages.findLastIndex(({ role }) => role === 'user');
  return messages.flatMap((message, index) =>
    index >= messages.length - 2 && isPublished(message, published)
      ? [message]
      : withoutEmpty(
          screenMessage(index < lastQuestion ? screenThoughts(message, redactor) : message, redactor),
        ),
  );
}

/**
 * A provider accepts its reasoning only unchanged. Reasoning with personal data, from before the space required
 * redaction, is left out, and its message is sent without provider state. Reasoning since the last question was made
 * on tokens.
 */
function screenThoughts(message: PromptMessage, redactor: Redactor): PromptMessage {
  if (message.role !== 'assistant' || message.reasoning === undefined) {
    return message;
  }
  const isClean = message.reasoning.every(({ text }) => redactor.text(text) === text);
  const calls = message.calls.map(({ callId, name, arguments: text }) => ({ callId, name, arguments: text }));
  return isClean ? message : { role: 'assistant', text: message.text, calls };
}

function withoutEmpty(message: PromptMessage): PromptMessage[] {
  const isEmpty =
    message.role === 'assistant' &&
    message.text === '' &&
    message.calls.length === 0 &&
    message.reasoning === undefined;
  return isEmpty ? [] : [message];
}

function isPublished(message: PromptMessage, published: string): boolean {
  return message.role === 'assistant' && message.text !== '' && published.startsWith(message.text);
}

function screenMessage(message: PromptMessage, redactor: Redactor): PromptMessage {
  switch (message.role) {
    case 'system':
      return { ...message, text: redactor.text(message.text) };
    case 'user':
      return {
        ...message,
        text: redactor.text(message.text),
        ...(message.parts === undefined
          ? {}
          : {
              parts: message.parts.map((part) => ({
                type: 'text' as const,
                // Files cannot be screened.
                text: part.type === 'text' ? redactor.text(part.text) : '[file left out]',
              })),
            }),
      };
    case 'assistant':
      return {
        ...message,
        text: redactor.text(message.text),
        calls: message.calls.map((call) => ({ ...call, arguments: redactor.maybeJson(call.arguments) })),
      };
    case 'tool': {
      const { files: _files, ...textual } = message;
      // A result that was stored with hidden characters; they would hide personal data from the recognisers.
      return { ...textual, result: redactor.maybeJson(withoutHidden(message.result).text) };
    }
  }
}
