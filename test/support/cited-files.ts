import { buildPrompt } from '#domain/responses/prompt/model-prompt.ts';
import type { CitedFile } from '#domain/responses/stream/message-composer.ts';

/** What an answer may cite after a search with this result, by label. */
export function citedFiles(result: string): Map<number, CitedFile> {
  const wire = { id: 'fs', type: 'file_search_call', status: 'completed', queries: [], results: null };
  const { citations } = buildPrompt(
    { request: { instructions: null, tools: [] } as never },
    [
      {
        response_id: 'r',
        type: wire.type,
        wire: JSON.stringify(wire),
        exchange: { call_id: 'c', name: 'knowledge_search', arguments: '{}', result },
        provider_state: null,
      },
    ],
    {
      providerKind: 'builtin',
      providerModel: 'builtin',
      model: 'builtin',
      inputModalities: ['text'],
    } as never,
  );
  return citations;
}
