import { allowsTool, namesServer } from '#domain/capabilities/skills/allowed-tools.ts';
import type { PinnedSkill } from '#domain/capabilities/skills/pin-skill.ts';
import { notGranted, type ServerCatalogue, type ServerOffers } from './server-catalogue.ts';

/** The offers of a server that a skill's allowed tools include. Without a skill, all offers. */
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

/** The servers that a skill allows, each with its allowed offers; a caller's request cannot name others. */
export function underSkill(
  skill: PinnedSkill | null,
  catalogue: readonly ServerCatalogue[],
): ServerCatalogue[] {
  return catalogue
    .filter(({ slug }) => skill === null || namesServer(skill.allowed_tools, slug))
    .map((server) => ({ slug: server.slug, offers: (names) => offersUnder(skill, server, names) }));
}
