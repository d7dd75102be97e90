import { describe, expect, it } from 'vitest';
import { renderKnowledgeResult } from '#domain/knowledge/search/knowledge-result.ts';
import type { Passage } from '#domain/knowledge/search/passage.ts';
import { MessageComposer } from '#domain/responses/stream/message-composer.ts';
import { citedFiles } from '#test/support/cited-files.ts';

const passage = (place: Pick<Passage, 'page' | 'anchor'>): Passage => ({
  documentId: 'd1',
  filename: 'plan.pdf',
  collectionId: 'c1',
  mediaType: 'text/plain',
  text: 'The beacon is blue.',
  heading: null,
  score: 1,
  searchScore: 0.5,
  rerankScore: null,
  keywordScore: 1,
  vectorScore: 1,
  coverage: 1,
  start: 0,
  end: 19,
  attributes: {},
  ...place,
});

/** The annotations of an answer that cites the first passages. */
function cite(passages: Passage[], said: string) {
  const result = renderKnowledgeResult({
    passages,
    mode: 'hybrid',
    reranking: { modelId: null, reason: 'not_chosen' },
    firstLabel: 0,
  });
  const composer = new MessageComposer({
    open: null,
    restart: false,
    nextOutputIndex: 0,
    buffered: false,
    citations: citedFiles(result),
    itemId: (prefix, index) => `${prefix}_${index}`,
  });
  const events = [...composer.text(said), ...composer.endOfText()];
  return events.flatMap((event) => ('annotation' in event ? [event.annotation] : []));
}

describe('a citation', () => {
  it('names page and anchor of the passage with its label, not of the document', () => {
    const passages = [passage({ page: 3, anchor: null }), passage({ page: 9, anchor: 'Budget!A12' })];
    expect(cite(passages, 'Blue [2], again [1].')).toEqual([
      {
        type: 'file_citation',
        file_id: 'd1',
        filename: 'plan.pdf',
        index: 0,
        page: 9,
        anchor: 'Budget!A12',
        start_index: 5,
        end_index: 8,
      },
      {
        type: 'file_citation',
        file_id: 'd1',
        filename: 'plan.pdf',
        index: 0,
        page: 3,
        start_index: 16,
        end_index: 19,
      },
    ]);
  });

  it('has neither where the format has none', () => {
    const [annotation] = cite([passage({ page: null, anchor: null })], 'Blue [1].');
    expect(Object.keys(annotation!)).toEqual([
      'type',
      'file_id',
      'filename',
      'index',
      'start_index',
      'end_index',
    ]);
  });
});
