import { searchInput } from '#api/contract/procedures.ts';
import { searchEnvelope } from '#api/contract/search.ts';
import { presentSearch } from '#api/present/search.ts';
import { searchAs, toQuery } from '#api/search.ts';
import { searchSpace } from '#domain/knowledge/search/search-space.ts';
import { procedure, reads, router } from './trpc.ts';

export const knowledge = router({
  search: procedure({ permission: 'knowledge.search', audit: reads })
    .input(searchInput)
    .output(searchEnvelope)
    .mutation(async ({ ctx: { request, deps }, input }) => {
      const answer = await searchAs(deps, request, (access) =>
        searchSpace(access, toQuery(input.space_id, input)),
      );
      return { data: presentSearch(answer, input.max_tokens) };
    }),
});
