import { expect, it } from 'vitest';
import { piiSettings } from '#domain/governance/policy/pii-settings.ts';
import { Redactor } from '#domain/governance/redaction/redact.ts';
import { screenMessages } from '#domain/responses/prompt/screen-messages.ts';
import { secrets } from '../../../support/world.ts';

it('a stored result with hidden characters in personal data becomes a prompt with tokens', () => {
  const { kinds } = piiSettings.parse({ mode: 'redact' });
  const redactor = new Redactor({ kinds, phoneCountries: [], secrets, scope: 'a', tokens: 'mine' });
  const result = JSON.stringify({ results: [{ text: 'Of info@\u200bexample.org.' }] });
  const name = 'knowledge_search';
  const [screened] = screenMessages([{ role: 'tool', callId: 'call_1', name, result }], '', redactor);
  expect(screened).toEqual({
    role: 'tool',
    callId: 'call_1',
    name,
    result: expect.stringMatching(/^{"results":\[{"text":"Of \[EMAIL_\w{12}\]\."}]}$/) as string,
  });
  expect(redactor.entries).toMatchObject([{ value: 'info@example.org' }]);
});
