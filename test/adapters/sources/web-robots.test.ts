import { describe, expect, it } from 'vitest';
import { parseRobots } from '#adapters/sources/web/robots.ts';
import { shortest } from '#test/support/growth.ts';

describe('robots.txt', () => {
  const allows = (text: string, path: string) => parseRobots(text).allows(`https://example.org${path}`);

  it.each([
    ['', '/a', true],
    ['User-agent: *\nDisallow: /a', '/ab', false],
    ['User-agent: *\nDisallow: /*.pdf$', '/x.pdf', false],
    ['User-agent: *\nDisallow: /*.pdf$', '/x.pdf?y', true],
    ['User-agent: *\nDisallow: /\nAllow: /a', '/a', true],
    ['User-agent: PlatformConnector\nDisallow:\n\nUser-agent: *\nDisallow: /', '/a', true],
    ['User-agent: PlatformConnector\nDisallow: /', '/a', false],
    // Groups of one agent are one, whatever stands between them; its name counts in any case, without a version.
    [
      'User-agent: *\nDisallow: /a\n\nUser-agent: x\nDisallow: /b\n\nUser-agent: *\nDisallow: /c',
      '/c',
      false,
    ],
    ['User-agent: *\nDisallow: /a\n\nUser-agent: x\nDisallow: /b\n\nUser-agent: *\nDisallow: /c', '/b', true],
    ['User-agent: x\nUser-agent: platformCONNECTOR/2.0 # us\nDisallow: /', '/a', false],
    ['User-agent: x\n\n# and\nSitemap: /s\nUser-agent: *\nDisallow: /', '/a', false],
    ['User-agent: platformconnectors\nDisallow: /', '/a', true],
    ['User-agent: *\nCrawl-delay: 1\nUser-agent: x\nDisallow: /', '/a', true],
    ['Disallow: /', '/a', true],
    // The longest rule decides, and of equal lengths what allows.
    ['User-agent: *\nAllow: /a\nDisallow: /a', '/a', true],
    ['User-agent: *\nAllow: /a/b\nDisallow: /a*/b', '/a/b', false],
    ['User-agent: *\nDisallow: /a/*/c$\nAllow: /a', '/a/b/b/c', false],
    ['User-agent: *\nDisallow: /a/*/c$', '/a/c', true],
    ['User-agent: *\nDisallow: /*b*b', '/ab', true],
    ['User-agent: *\nDisallow: /a$', '/a', false],
    ['User-agent: *\nDisallow: /a$', '/ab', true],
    ['User-agent: *\nDisallow: *', '/', false],
    ['User-agent: *\nDisallow: /?q=', '/?q=1', false],
    // One character in several forms.
    ['User-agent: *\nDisallow: /caf\u00e9', '/caf%c3%a9s', false],
    ['User-agent: *\nDisallow: /caf%c3%A9', '/caf\u00e9', false],
    ['User-agent: *\nDisallow: /%7Ejoe', '/~joe', false],
    ['User-agent: *\nDisallow: /~joe', '/%7ejoe', false],
    ['User-agent: *\nDisallow: /a%2Fb', '/a/b', true],
    ['User-agent: *\nDisallow: /a%2Ab', '/a*b', false],
    ['User-agent: *\nDisallow: /a%2Ab', '/axb', true],
    ['User-agent: *\nDisallow: /a$b', '/a$b', false],
    ['User-agent: *\nDisallow: /\u{1f600}', '/%F0%9F%98%80', false],
    ['User-agent: *\nDisallow: /\ud83d', '/a', true],
    ['User-agent: *\nDisallow: /a|{b}', '/a|{b}', false],
    // Rules that are too long or too many to compare forbid more.
    [`User-agent: *\nDisallow: /a${'*b'.repeat(200)}`, '/ax', false],
    [`User-agent: *\nDisallow: /a\nAllow: /a${'*b'.repeat(200)}`, `/a${'xb'.repeat(200)}`, false],
    [`User-agent: *\n${'Disallow: /a*b\n'.repeat(201)}Disallow: /c*d`, '/cx', false],
    [`User-agent: *\n${'Disallow: /a*b\n'.repeat(201)}Disallow: *d`, '/x', false],
  ])('%# decides about %s', (text, path, expected) => {
    expect(allows(text, path)).toBe(expected);
  });

  it('asks for a delay of ten seconds at most', () => {
    const delayOf = (delay: string) => parseRobots(`User-agent: *\nCrawl-delay: ${delay}`).delayMs;
    expect(['1.5', '3600', 'Infinity', '-1', 'x', ''].map(delayOf)).toEqual([1_500, 10_000, 10_000, 0, 0, 0]);
  });

  it('that names an agent again and again is read once', () => {
    const text = `${'User-agent:*\n'.repeat(30_000)}${Array.from({ length: 4_900 }, (_, at) => `Disallow:/${at}\n`).join('')}`;
    expect(shortest(() => expect(allows(text, '/4899')).toBe(false), 1)).toBeLessThan(1_000);
  });

  it.each([
    ['rules that differ at their end', Array.from({ length: 4_900 }, (_, at) => `/${'a'.repeat(180)}${at}`)],
    ['rules of many stars', Array.from({ length: 200 }, (_, at) => `/${'*a'.repeat(98)}${at % 10}`)],
    ['rules of repetitions', Array<string>(200).fill(`/${'*aaaaab'.repeat(27)}`)],
  ])('with %s costs an address milliseconds', (_, rules) => {
    const robots = parseRobots(`User-agent: *\n${rules.map((rule) => `Disallow: ${rule}\n`).join('')}`);
    const address = `https://example.org/${'a'.repeat(1_900)}c`;
    expect(shortest(() => expect(robots.allows(address)).toBe(true), 3)).toBeLessThan(50);
  });

  it('lists at most a hundred sitemaps', () => {
    const text = Array.from({ length: 200 }, (_, at) => `Sitemap: https://example.org/${at}.xml`).join('\n');
    expect(parseRobots(text).sitemaps).toHaveLength(100);
  });

  it('that is hostile costs an address less than a second', () => {
    const rules = `User-agent: *\n${`Disallow: ${'*a'.repeat(99)}\n`.repeat(2_500)}`;
    const robots = parseRobots(rules);
    const begin = process.cpuUsage().user;
    robots.allows(`https://example.org/${'a'.repeat(1_900)}b`);
    expect(process.cpuUsage().user - begin).toBeLessThan(1_000_000);
  });
});
