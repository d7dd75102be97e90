import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { calledServer } from '../support/called-server.ts';
import { openEngine, search, type Engine } from '../support/engine.ts';
import { attemptCall } from '../support/planned-call.ts';

const [address, card, iban] = ['info@example.org', '4111 1111 1111 1111', 'DE89370400440532013000'];
/** With a zero-width space, a soft hyphen and a tag after some of its characters. */
const hide = (text: string) =>
  Array.from(text, (letter, i) => letter + ['', '', '\u200b', '', '\u00ad', '', '\u{e0061}'][i % 7]).join('');
const server = calledServer(() => Promise.reject(new Error('No server is called.')));

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
  const documentId = await engine.act(async (ctx) => {
    const { collection } = await createCollection(ctx, { name: 'Harbours' });
    const filename = `${hide(address)}.txt`;
    const content = 'The beacon.';
    const place = { collectionId: collection.id, mediaType: 'text/plain' as const };
    return (await uploadDocument(ctx, { ...place, filename, content })).document.id;
  });
  const passage = {
    heading: `Beacon of ${hide(address)}`,
    text: `The beacon belongs to ${hide(address)}, ${hide(card)} or ${hide(iban)}. \u{1f468}\u200d\u{1f469}`,
    anchor: `Sheet of ${hide(address)}`,
    start: 0,
    end: 90,
    page: null,
  };
  await engine.database.unitOfWork.inTenant(engine.world.tenantId, async (em) => {
    await storePassages(em, { documentId, readingId: 'first', chunks: [passage] });
    await finishIngestion(em, documentId, null);
  });
});
afterAll(() => engine?.stop());

const govern = (mode: string) =>
  engine.admin.query('update spaces set policy = $1', [JSON.stringify({ version: 2, pii: { mode } })]);

/** What the model is given, and what the response stores of it. */
async function found(): Promise<{ given: Record<string, string>; stored: Record<string, string> }> {
  const responseId = await engine.create({
    tools: [{ type: 'knowledge_search', collectionIds: null, maxNumResults: null, alpha: null }],
    include: ['file_search_call.results'],
  });
  await (await engine.attempt(responseId)).commit({ calls: [search('beacon')], reason: 'tool_calls' });
  const key = { tenantId: engine.world.tenantId, responseId, iteration: 0, callIndex: 0 };
  expect(await attemptCall(engine, server, key)).toEqual({ outcome: 'succeeded' });
  const last = (await engine.attempt(responseId, 1)).turn.messages.at(-1);
  const [item] = (await engine.record(responseId)).output;
  const { results } = JSON.parse(last?.role === 'tool' ? last.result : '') as { results: never[] };
  return { given: results[0]!, stored: (item as unknown as { results: never[] }).results[0]! };
}

it('personal data with hidden characters in a document reaches neither the model nor the response', async () => {
  await govern('redact');
  const { given, stored } = await found();
  const [email, family] = [String.raw`\[EMAIL_\w{12}\]`, '\u{1f468}\u200d\u{1f469}'];
  const text = new RegExp(
    String.raw`^The beacon belongs to ${email}, \[CARD_\w{12}\] or \[IBAN_\w{12}\]\. ${family}$`,
    'u',
  );
  expect(given.text).toMatch(text);
  expect(given.heading).toMatch(new RegExp(`^Beacon of ${email}$`));
  expect(stored.text).toBe(given.text);
  for (const { filename, anchor } of [given, stored]) {
    // Its extension makes the name of the file one address.
    expect(filename).toMatch(new RegExp(`^${email}$`));
    expect(anchor).toMatch(new RegExp(`^Sheet of ${email}$`));
  }
});

it('a passage has no hidden characters in a space without screening either', async () => {
  await govern('off');
  const { given, stored } = await found();
  expect(given.text).toBe(`The beacon belongs to ${address}, ${card} or ${iban}. \u{1f468}\u200d\u{1f469}`);
  expect(stored).toMatchObject({ text: given.text, filename: `${address}.txt` });
});
