import { describe, expect, it } from 'vitest';
import { parseKnowledgeArguments } from '#domain/knowledge/search/knowledge-tool.ts';
import {
  relevantPassages,
  renderKnowledgeResult,
  toSearchResults,
} from '#domain/knowledge/search/knowledge-result.ts';
import type { Passage } from '#domain/knowledge/search/passage.ts';

const passage = (overrides: Partial<Passage> = {}): Passage => ({
  documentId: 'd1',
  filename: 'guide.md',
  collectionId: 'c1',
  mediaType: 'text/markdown',
  text: 'The beacon is blue.',
  heading: 'Beacons',
  page: null,
  anchor: null,
  score: 0.123456,
  coverage: 0.8,
  searchScore: 0.5,
  rerankScore: null,
  keywordScore: 0.4,
  vectorScore: 0,
  start: 0,
  end: 19,
  attributes: { lang: 'en' },
  ...overrides,
});

describe('parseKnowledgeArguments', () => {
  it('reads the query', () => {
    expect(parseKnowledgeArguments('{"query":"blue beacon"}')).toEqual({ query: 'blue beacon' });
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '"text"',
    '{}',
    '{"query":7}',
    '{"query":" "}',
    `{"query":"${'x'.repeat(4_001)}"}`,
  ])('answers an error for %s instead of throwing', (text) => {
    expect(parseKnowledgeArguments(text)).toEqual({ error: expect.any(String) as string });
  });
});

const unranked = { modelId: null, reason: 'not_chosen' } as const;

describe('renderKnowledgeResult', () => {
  it('labels the passages from the number after the first label on', () => {
    const passages = [passage(), passage({ documentId: 'd2', heading: null })];
    expect(
      JSON.parse(renderKnowledgeResult({ passages, mode: 'keyword', reranking: unranked, firstLabel: 3 })),
    ).toEqual({
      results: [
        {
          label: '[4]',
          document_id: 'd1',
          filename: 'guide.md',
          heading: 'Beacons',
          text: 'The beacon is blue.',
          score: 0.1235,
        },
        {
          label: '[5]',
          document_id: 'd2',
          filename: 'guide.md',
          heading: null,
          text: 'The beacon is blue.',
          score: 0.1235,
        },
      ],
      mode: 'keyword',
    });
  });

  it('stays valid and below 256 KiB by leaving out the last passages, and says so', () => {
    const passages = Array.from({ length: 400 }, () => passage({ text: 'ä'.repeat(1_000) }));
    const text = renderKnowledgeResult({ passages, mode: 'keyword', reranking: unranked, firstLabel: 0 });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(262_144);
    const received = JSON.parse(text) as { results: unknown[]; truncated: boolean };
    expect(received.truncated).toBe(true);
    expect(received.results.length).toBeGreaterThan(100);
  });
});

describe('the order of a result', () => {
  it.each([
    [{ modelId: 'm', reason: null }, { reranked: true }],
    [
      { modelId: null, reason: 'reranker_malformed' },
      { reranked: false, reason: 'reranker_malformed' },
    ],
    [{ modelId: null, reason: 'not_requested' }, {}],
  ] as const)('of %j is shown to the model as %j', (reranking, shown) => {
    const text = renderKnowledgeResult({ passages: [], mode: 'hybrid', reranking, firstLabel: 0 });
    expect(JSON.parse(text)).toEqual({ results: [], mode: 'hybrid', ...shown });
  });
});

describe('page and anchor of a passage', () => {
  const paged = passage({ page: 7, anchor: 'Budget!A12' });

  it('are in the model’s result and in the wire shape', () => {
    const { results } = JSON.parse(
      renderKnowledgeResult({ passages: [paged], mode: 'hybrid', reranking: unranked, firstLabel: 0 }),
    ) as { results: object[] };
    expect(results).toMatchObject([{ label: '[1]', page: 7, anchor: 'Budget!A12' }]);
    expect(toSearchResults([paged])).toMatchObject([{ page: 7, anchor: 'Budget!A12' }]);
  });
});

describe('relevantPassages', () => {
  it('keeps passages that either side holds relevant', () => {
    const passages = [
      passage({ coverage: 0, vectorScore: 0.28 }),
      passage({ coverage: 0.51, vectorScore: 0 }),
      passage({ coverage: 0.5, vectorScore: 0.27 }),
    ];
    expect(
      relevantPassages({ passages, mode: 'hybrid', reason: null, generation: 'g', reranking: unranked }),
    ).toEqual(passages.slice(0, 2));
  });

  it('keeps passages that the reranking model holds relevant', () => {
    const weak = { coverage: 0, vectorScore: 0 };
    const passages = [passage({ ...weak, rerankScore: 0.61 }), passage({ ...weak, rerankScore: 0.6 })];
    const answer = { passages, mode: 'keyword', reason: null, generation: null } as const;
    const reranking = { modelId: 'm', reason: null };
    expect(relevantPassages({ ...answer, passages, reranking })).toEqual([passages[0]]);
  });

  it('keeps passages with more than half of the question’s words', () => {
    const passages = [passage({ coverage: 0.51 }), passage({ coverage: 0.5 })];
    expect(
      relevantPassages({ passages, mode: 'keyword', reason: null, generation: null, reranking: unranked }),
    ).toEqual([passages[0]]);
  });
});

describe('toSearchResults', () => {
  it('gives the wire shape of a file search, field by field', () => {
    expect(toSearchResults([passage()])).toEqual([
      {
        file_id: 'd1',
        filename: 'guide.md',
        score: 0.1235,
        text: 'The beacon is blue.',
        attributes: { lang: 'en' },
      },
    ]);
  });
});
