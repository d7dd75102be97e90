import { allowsTool, namesServer } from '#domain/capabilities/skills/allowed-tools.ts';
import type { PinnedSkill } from '#domain/capabilities/skills/pin-skill.ts';
import { notGranted, type ServerCatalogue, type ServerOffers } from './server-catalogue.ts';

/** What is left of a server's offers under a skill: only what its allowed tools name. Without a skill, everything. */
export function offersUnder(
  skill: PinnedSkill | null,
  server: ServerCatalogue,
  names: readonly string[] | null,
): ServerOffers {
  if (skill !== null && !namesServer(skill.allowed_tools, server.slug)) {
    return { tools: [], withheld: [{ name: `mcp__${server.slug}__*`, reason: 'not_in_skill' }] };
  }
  const offers = server.offers(names);
  const left = offers.tools.filter(({ name }) => skill === null || allowsTool(skill.allowed_tools, name));
  if (names !== null && left.length < offers.tools.length) {
    throw notGranted();
  }
  const kept = new Set(left);
  return {
    tools: left,
    withheld: [
      ...offers.withheld,
      ...offers.tools
        .filter((tool) => !kept.has(tool))
        .map(({ name }) => ({ name, reason: 'not_in_skill' as const })),
    ],
  };
}

/** The servers that a skill names, each with what is left of its offers: to a caller's wishes there are no others. */
export function underSkill(
  skill: PinnedSkill | null,
  catalogue: readonly ServerCatalogue[],
): ServerCatalogue[] {
  return catalogue
    .filter(({ slug }) => skill === null || namesServer(skill.allowed_tools, slug))
    .map((server) => ({ slug: server.slug, offers: (names) => offersUnder(skill, server, names) }));
}
