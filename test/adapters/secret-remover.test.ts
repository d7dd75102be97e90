import { expect, it } from 'vitest';
import { SecretRemover } from '#adapters/egress/secret-remover.ts';
import { expectLinear } from '../support/growth.ts';

const secret = 'sk-wombat+7f3e/9b=="quo\\ted&<x>';
const remover = new SecretRemover([`Bearer ${secret}`]);
const bytes = Buffer.from(secret);
const aligned = (before: string, behind: string) => Buffer.from(`${before}${secret}${behind}`);

/** Encodings in which a server may echo a secret. */
const echoes: Record<string, string> = {
  plain: `I was sent Bearer ${secret}!`,
  alone: secret,
  'base64 at 0': aligned('', 'xyz').toString('base64'),
  'base64 at 1': aligned('a', 'xy').toString('base64'),
  'base64 at 2': aligned('ab', '').toString('base64'),
  'base64 with its scheme': aligned('Bearer ', '').toString('base64'),
  base64url: aligned('abcd', 'z').toString('base64url'),
  'base64 in lines': aligned('', 'xyz').toString('base64').replaceAll(/.{8}/g, '$&\r\n'),
  hex: bytes.toString('hex'),
  'upper hex': bytes.toString('hex').toUpperCase(),
  url: `https://a.example/?k=${encodeURIComponent(secret)}`,
  'lower url': encodeURIComponent(secret).replaceAll(/%../g, (each) => each.toLowerCase()),
  'every byte of a url': bytes.toString('hex').replaceAll(/../g, '%$&'),
  json: JSON.stringify({ authorization: secret }),
  'json in json': JSON.stringify(JSON.stringify({ authorization: secret })),
  'json of PHP': JSON.stringify(secret).replaceAll('/', '\\/'),
  html: secret
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;'),
  'two parts': `${secret.slice(0, 9)}\n${secret.slice(9)}`,
  'hidden characters': Array.from(secret).join('\u200B'),
  'a false start': `${secret.slice(0, 4)}${secret}`,
};

it.each(Object.entries(echoes))('a sent secret is removed as %s', (_form, echo) => {
  const cleaned = remover.text(`before ${echo} behind`);
  expect(cleaned).toContain('[credential removed]');
  expect(cleaned.startsWith('before ')).toBe(true);
  expect(cleaned.endsWith(' behind')).toBe(true);
  const left = cleaned.replaceAll('[credential removed]', '');
  for (const form of [
    secret,
    'wombat',
    bytes.toString('hex').slice(6, 18),
    bytes.toString('base64').slice(4, 16),
  ]) {
    expect(left.toLowerCase()).not.toContain(form.toLowerCase());
  }
});

it('nothing else is changed, but names and texts within a value are', () => {
  const text = 'A wombat asked for sk-… and got 9b== of nothing.';
  expect(remover.text(text)).toBe(text);
  expect(remover.value({ a: [1, null, secret], [secret]: { b: true } })).toEqual({
    a: [1, null, '[credential removed]'],
    '[credential removed]': { b: true },
  });
});

it('a secret within Basic credentials is removed as well', () => {
  const basic = new SecretRemover([`Basic ${Buffer.from('operator:hunter2-hunter2').toString('base64')}`]);
  expect(basic.text('you are operator:hunter2-hunter2, or hunter2-hunter2')).toBe(
    'you are [credential removed], or [credential removed]',
  );
});

it('takes linear time, also for a text that nearly contains the secret again and again', () => {
  const token = `${'ab'.repeat(500)}c`;
  const long = new SecretRemover([`Bearer ${token}`]);
  const make = (size: number) => 'ab'.repeat(size / 2);
  expectLinear('A credential nearly held', { make, work: (text) => long.text(text), size: 2_000_000 });
});

it.each(Object.entries(echoes))('a sent secret is removed as %s however it is split', (_form, echo) => {
  const text = `before ${echo} behind`;
  const whole = remover.text(text);
  for (const length of [1, 2, 3, 7, 64]) {
    const stream = remover.stream(64);
    const received: string[] = [];
    for (let at = 0; at < text.length; at += length) received.push(stream.push(text.slice(at, at + length)));
    expect(received.join('') + stream.end()).toBe(whole);
  }
});

it('a stream holds back a possible beginning of a secret, and text in another script only briefly', () => {
  const stream = remover.stream(64);
  expect(stream.push('A key is sk-womb')).toBe('A key is ');
  expect(stream.push('ats, sk')).toBe('sk-wombats, ');
  expect(stream.push('潮'.repeat(64))).toBe('');
  expect(stream.push('の')).toBe(`sk${'潮'.repeat(64)}の`);
  expect(stream.push('s') + stream.end()).toBe('s');
});

it('a credential of a few letters is not searched for: it would be found in every word', () => {
  const short = new SecretRemover(['Bearer a', 'Basic YTpi', 'cat']);
  const text = 'a cat sat on a mat: a:b';
  expect(short.text(text)).toBe(text);
});
