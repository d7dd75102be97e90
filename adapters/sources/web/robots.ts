import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { userAgent } from '../shared/user-agent.ts';
import { normalAddress, robotsRule, type RobotsRule } from './robots-rule.ts';

/** As RFC 9309 asks for at least. */
export const maxRobotsBytes = 512_000;
const maxRules = 5_000;
const maxWildcardRules = 200;
const maxRuleLength = 200;
const maxSitemaps = 100;
const maxDelayMs = 10_000;
/** Lines of a group: a name after one of them begins another group. */
const ofGroups = new Set(['allow', 'disallow', 'crawl-delay']);
const [product = ''] = userAgent.toLowerCase().split('/', 1);

export interface Robots {
  allows(address: string): boolean;
  /** Between two requests. */
  delayMs: number;
  /** Addresses of sitemaps. */
  sitemaps: readonly string[];
}

/** All groups of one agent, as one. */
interface Group {
  isNamed: boolean;
  rules: { isAllowed: boolean; path: string }[];
  delayMs: number;
}

/**
 * Reads a robots.txt by RFC 9309: the groups of our own product count, or else those of `*`. Others are not kept.
 * @param text empty where the site has no robots.txt
 */
export function parseRobots(text: string): Robots {
  const { own, everybody, sitemaps } = readGroups(text);
  const { rules, delayMs } = own.isNamed ? own : everybody;
  const sorted = bounded(rules);
  return {
    allows: (address) => {
      const normal = normalAddress(address);
      return sorted.find(({ fits }) => fits(normal))?.isAllowed ?? true;
    },
    delayMs,
    sitemaps,
  };
}

function readGroups(text: string): { own: Group; everybody: Group; sitemaps: string[] } {
  const [own, everybody] = [emptyGroup(), emptyGroup()];
  const sitemaps: string[] = [];
  const current = new Set<Group>();
  let isNaming = false;
  for (const line of text.split(/[\r\n]/)) {
    const [content = ''] = line.split('#', 1);
    const colon = content.indexOf(':');
    if (colon === -1) continue;
    const field = content.slice(0, colon).trim().toLowerCase();
    const value = content.slice(colon + 1).trim();
    if (field === 'user-agent') {
      if (!isNaming) current.clear();
      const agent = value.toLowerCase().split('/', 1)[0]?.trim();
      const group = agent === product ? own : agent === '*' ? everybody : null;
      if (group !== null) {
        group.isNamed = true;
        current.add(group);
      }
    } else if (field === 'sitemap' && value !== '' && sitemaps.length < maxSitemaps) {
      sitemaps.push(value);
    } else {
      for (const group of current) take(group, field, value);
    }
    isNaming = field === 'user-agent' || (isNaming && !ofGroups.has(field));
  }
  return { own, everybody, sitemaps };
}

const emptyGroup = (): Group => ({ isNamed: false, rules: [], delayMs: 0 });

function take(group: Group, field: string, value: string): void {
  if ((field === 'allow' || field === 'disallow') && value !== '') {
    if (group.rules.length === maxRules) {
      throw new SourceFailure(
        'source_invalid',
        `The robots.txt of the site has more than ${maxRules} rules.`,
      );
    }
    group.rules.push({ isAllowed: field === 'allow', path: value });
  } else if (field === 'crawl-delay') {
    const delay = Number(value) * 1_000;
    if (!Number.isNaN(delay)) group.delayMs = Math.min(Math.max(delay, 0), maxDelayMs);
  }
}

/**
 * In the order in which they decide: the longest first, and of equal lengths what allows comes first. Rules that
 * are costly to compare are shortened so that they forbid more, or no longer allow.
 */
function bounded(rules: Group['rules']): RobotsRule[] {
  let wildcards = 0;
  return rules
    .flatMap(({ isAllowed, path }) => {
      const hasWildcard = path.includes('*');
      wildcards += hasWildcard ? 1 : 0;
      if (path.length <= maxRuleLength && (wildcards <= maxWildcardRules || !hasWildcard)) {
        return robotsRule(path, isAllowed);
      }
      const [start = ''] = path.slice(0, maxRuleLength).split('*', 1);
      return isAllowed ? [] : robotsRule(start === '' ? '/' : start, false);
    })
    .toSorted((a, b) => b.length - a.length || Number(b.isAllowed) - Number(a.isAllowed));
}
