import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';
import type {
  ModelGateway,
  ModelPart,
  ModelRequest,
  PromptMessage,
  TokenUsage,
} from '#domain/capabilities/models/model-gateway.ts';
import { knowledgeToolName } from '#domain/knowledge/search/knowledge-definition.ts';
import { extractAnswer } from './builtin-answer.ts';
import { readFindings } from './builtin-findings.ts';

const maxQueryLength = 2_000;

const whatItIs =
  'I can only answer from the documents of this space, by quoting them, and this request does not offer me the ' +
  'search. Name the tool file_search (knowledge_search), or choose another model.';

/** A word with the white space before it; a mark such as `[1]` is one word. */
const word = /(?<!\s)\s*\S+/gu;

/**
 * A model without a network. It searches the space's knowledge and answers with the best matching sentences, verbatim,
 * each with its mark. Equal requests have byte-equal answers, so a broken stream is continued by replay.
 */
export const builtinModel: ModelGateway = {
  async *stream(request, signal) {
    signal.throwIfAborted();
    const turn = lastTurn(request.messages);
    const inputTokens = estimateInput(request);
    if (turn.results.length === 0 && offersSearch(request) && turn.question.trim() !== '') {
      const query = turn.question.slice(0, maxQueryLength).toWellFormed();
      const call = JSON.stringify({ query });
      yield { type: 'tool_call', name: knowledgeToolName, arguments: call, state: null };
      yield finish('tool_calls', inputTokens, estimateTokens(call));
      return;
    }
    let outputTokens = 0;
    for (const [text] of answer(turn).matchAll(word)) {
      signal.throwIfAborted();
      const tokens = estimateTokens(text);
      if (outputTokens + tokens > request.maxOutputTokens) {
        yield finish('length', inputTokens, outputTokens);
        return;
      }
      outputTokens += tokens;
      yield { type: 'text', text };
    }
    yield finish('stop', inputTokens, outputTokens);
  },
};

interface Turn {
  question: string;
  /** Results of the tool since the question. */
  results: string[];
}

function lastTurn(messages: PromptMessage[]): Turn {
  const asked = messages.findLastIndex((message) => message.role === 'user');
  const question = messages[asked];
  return {
    question: question?.role === 'user' ? question.text : '',
    results: messages
      .slice(asked + 1)
      .flatMap((message) =>
        message.role === 'tool' && message.name === knowledgeToolName ? [message.result] : [],
      ),
  };
}

function offersSearch({ tools, toolChoice }: ModelRequest): boolean {
  return toolChoice !== 'none' && tools.some((tool) => tool.name === knowledgeToolName);
}

function answer({ question, results }: Turn): string {
  if (results.length === 0) {
    return whatItIs;
  }
  const findings = readFindings(results);
  if (findings === null) {
    return 'The documents of this space could not be searched, so I cannot answer.';
  }
  const found = extractAnswer(question, findings);
  return found.length === 0
    ? 'I found nothing about this in the documents of this space.'
    : `From the documents of this space:\n\n${found.map(({ text, label }) => `${text} ${label}`).join('\n\n')}`;
}

function finish(
  reason: 'stop' | 'length' | 'tool_calls',
  inputTokens: number,
  outputTokens: number,
): ModelPart {
  const usage: TokenUsage = { inputTokens, outputTokens, cachedInputTokens: 0, reasoningTokens: 0 };
  return { type: 'finish', reason, usage };
}

function estimateInput(request: ModelRequest): number {
  return request.messages.reduce(
    (sum, message) => sum + estimateTokens(message.role === 'tool' ? message.result : message.text),
    0,
  );
}
