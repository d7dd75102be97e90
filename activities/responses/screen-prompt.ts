import { countTokens } from '#domain/governance/redaction/pii-tokens.ts';
import type { Redactor } from '#domain/governance/redaction/redact.ts';
import type { PromptMessage } from '#domain/capabilities/models/model-gateway.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';
import { screen, type ScreeningDependencies } from './screening.ts';

/**
 * The last look before a provider is told anything: whatever way a text came into the conversation, personal data in
 * it is a token by now. Where the space demands nothing, nothing is done.
 */
export async function screenPrompt(deps: ScreeningDependencies, turn: ClaimedTurn): Promise<ClaimedTurn> {
  const { redaction } = turn.settings;
  if (redaction === undefined) {
    return turn;
  }
  // What readers have of the answer is continued letter by letter: it stays as the model said it.
  const said = turn.composer.open?.text ?? '';
  const asked = turn.messages.findLastIndex(({ role }) => role === 'user');
  const messages = await screen(deps, { ...turn, redaction }, (redactor) =>
    turn.messages.flatMap((message, index) =>
      index >= turn.messages.length - 2 && isSaid(message, said)
        ? [message]
        : withoutEmpty(screenMessage(index < asked ? screenThoughts(message, redactor) : message, redactor)),
    ),
  );
  return { ...turn, messages, composer: { ...turn.composer, citedBehind } };
}

/** Where a citation stands for a reader who is shown values follows from the tokens before it. */
function citedBehind(text: string): { tokens_before?: Record<string, number> } {
  const tokens = countTokens(text);
  return Object.keys(tokens).length === 0 ? {} : { tokens_before: tokens };
}

/**
 * A provider takes its reasoning back only as it was: with personal data in it, from before the space's demand, it is
 * left out, and the message stands as anybody's. What was thought since the last question was thought about tokens.
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

function isSaid(message: PromptMessage, said: string): boolean {
  return message.role === 'assistant' && message.text !== '' && said.startsWith(message.text);
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
                // What cannot be read cannot be screened.
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
      const { files: _files, ...told } = message;
      return { ...told, result: redactor.maybeJson(message.result) };
    }
  }
}
