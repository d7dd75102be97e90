import robotsParser from 'robots-parser';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { userAgent } from '../shared/user-agent.ts';

/** Its types describe another module format than it has. */
const parse = robotsParser as unknown as typeof robotsParser.default;

/** As RFC 9309 asks for at least. */
export const maxRobotsBytes = 512_000;
const maxRules = 5_000;
const maxWildcardRules = 200;
const maxRuleLength = 200;
const maxDelayMs = 10_000;

export interface Robots {
  allows(address: string): boolean;
  /** Between two requests. */
  delayMs: number;
  /** Addresses of sitemaps. */
  sitemaps: readonly string[];
}

/** @param text empty where the site has no robots.txt */
export function parseRobots(url: string, text: string): Robots {
  const parsed = parse(url, bounded(text));
  const delay = (parsed.getCrawlDelay(userAgent) ?? 0) * 1_000;
  return {
    allows: (address) => parsed.isAllowed(address, userAgent) !== false,
    delayMs: Math.min(Math.max(delay, 0), maxDelayMs),
    sitemaps: parsed.getSitemaps().slice(0, 100),
  };
}

/**
 * Rules that are costly to compare are shortened so that they forbid more, or no longer allow: the parser takes time of
 * the product of the lengths of rule and address.
 */
function bounded(text: string): string {
  let [rules, wildcards] = [0, 0];
  const lines = text.split(/\r\n|\r|\n/).map((line) => {
    const colon = line.indexOf(':');
    const field = line.slice(0, colon).trim().toLowerCase();
    if (colon === -1 || (field !== 'allow' && field !== 'disallow')) {
      return line;
    }
    const [rule = ''] = line.slice(colon + 1).split('#', 1);
    rules += 1;
    wildcards += rule.includes('*') ? 1 : 0;
    if (rule.length <= maxRuleLength && (wildcards <= maxWildcardRules || !rule.includes('*'))) {
      return line;
    }
    const [start = ''] = rule.trim().slice(0, maxRuleLength).split('*', 1);
    return field === 'allow' ? '' : `disallow: ${start === '' ? '/' : start}`;
  });
  if (rules > maxRules) {
    throw new SourceFailure('source_invalid', `The robots.txt of the site has more than ${maxRules} rules.`);
  }
  return lines.join('\n');
}
