import { isDeleted, type Message } from './wire.ts';

const marked = /<([^<>|]{1,3000})(?:\|([^<>]{0,3000}))?>/g;

/** People whom a message names. */
export function namedUsers({ text, user }: Message): string[] {
  const named = [...text.matchAll(marked)].flatMap(([, target = '']) =>
    /^@[A-Z0-9]{1,30}$/.test(target) ? [target.slice(1)] : [],
  );
  return user === undefined ? named : [user, ...named];
}

/** Slack’s markup as text: mentions, channels and links in angle brackets, and three escaped characters. */
export function plainText(text: string, names: ReadonlyMap<string, string>): string {
  return text
    .replaceAll(marked, (_, target: string, label?: string) => {
      const [kind] = target;
      if (kind === '@') {
        return `@${names.get(target.slice(1)) ?? label ?? target.slice(1)}`;
      }
      if (kind === '#') {
        return `#${label ?? target.slice(1)}`;
      }
      if (kind === '!') {
        return label ?? `@${target.slice(1).split('^', 1)[0]}`;
      }
      return label === undefined || label === '' ? target : `${label} (${target})`;
    })
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

export function toMarkdown(
  title: string,
  said: readonly Message[],
  names: ReadonlyMap<string, string>,
): string {
  const parts = said.map((message) => {
    const { ts, user, username, files = [], text } = message;
    const author = (user === undefined ? undefined : names.get(user)) ?? username ?? 'Unknown';
    const time = new Date(Number(ts) * 1_000).toISOString().slice(0, 16).replace('T', ' ');
    const attached = files.map(({ name }) => `[file: ${name ?? 'without a name'}]`);
    return [`**${author}**, ${time} UTC`, plainText(text, names), ...attached].filter(Boolean).join('\n\n');
  });
  return [`# ${title}`, ...parts].join('\n\n');
}

/** The beginning of the first line. */
export function headline(message: Message): string {
  if (isDeleted(message)) {
    return 'Thread';
  }
  const line = plainText(message.text, new Map()).trimStart().split('\n', 1)[0] ?? '';
  return Array.from(line.slice(0, 400)).slice(0, 120).join('');
}
