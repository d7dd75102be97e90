import type { Command } from 'commander';
import type { Outputs } from '../connect.ts';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields, lines } from '../print.ts';
import { remote } from '../remote.ts';

interface SearchOptions extends InSpace {
  collection?: string[];
  alpha?: number;
  maxResults?: number;
  rerank?: boolean;
}

export function addKnowledge(program: Command): void {
  const group = program.command('knowledge').description('search in the documents of a space');
  remote(
    inSpace(group.command('search').description('the passages that answer best').argument('<question>'))
      .option('--collection <id>', 'only this collection; may be repeated', repeated)
      .option('--alpha <n>', 'weight of the search by meaning, 0 to 1; 0.75 when not given', Number)
      .option('--max-results <n>', 'passages at most, 1 to 50; 8 when not given', Number)
      .option('--rerank', 'order the passages by the reranking model of the space')
      .option('--no-rerank', 'leave them in the order of the search'),
    {
      call: (client, { space, collection, alpha, maxResults, rerank }: SearchOptions, question) =>
        client.knowledge.search.mutate({
          space_id: space,
          query: question,
          ...(collection === undefined ? {} : { collection_ids: collection }),
          ...(alpha === undefined ? {} : { alpha }),
          ...(maxResults === undefined ? {} : { max_results: maxResults }),
          ...(rerank === undefined ? {} : { rerank }),
        }),
      show: ({ data }) =>
        [
          fields({
            mode: data.mode,
            reason: data.reason,
            generation: data.generation,
            reranking: data.reranking.model_id ?? data.reranking.reason,
          }),
          ...data.results.map(showPassage),
        ].join('\n\n'),
    },
  );
}

const repeated = (given: string, before: string[] = []): string[] => [...before, given];

type Result = Outputs['knowledge']['search']['data']['results'][number];

function showPassage(result: Result, index: number): string {
  const { score, keyword_score: keyword, vector_score: vector, rerank_score: rerank } = result;
  const { filename, heading, page } = result;
  const origin = [filename, heading, page === null ? null : `page ${page}`].filter((part) => part !== null);
  return lines(
    [
      `[${index + 1}] ${score} (keyword ${keyword}, vector ${vector ?? '-'}${rerank === null ? '' : `, rerank ${rerank}`})  ${origin.join(' › ').replaceAll('\n', ' ')}`,
      result.text,
    ].join('\n'),
  );
}
