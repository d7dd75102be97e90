import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { saveDemo } from '../../bin/launcher/demo.ts';
import { renderScreen } from '../../bin/launcher/screen.ts';

/** The screen after a seeding that has printed this of its documents. */
function screenOf(documents: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'screen-'));
  const demo = saveDemo(folder, [JSON.stringify({ space_id: 's', api_key: 'ak.a.b', ...documents })]);
  const { stdout: stream } = process;
  return renderScreen({
    demo,
    gatewayPort: 8080,
    temporalUiUrl: undefined,
    signInUrl: undefined,
    tookSeconds: 1,
    stream,
  });
}

it('what is stored of the demo outlives the reading of its documents', () => {
  const folder = mkdtempSync(join(tmpdir(), 'screen-'));
  const lasting = { space_id: 's', api_key: 'ak.a.b', collection_id: 'c' };
  saveDemo(folder, [JSON.stringify({ ...lasting, documents_reading: true, documents_unembedded: 81 })]);
  expect(JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'))).toEqual(lasting);
});

describe('the screen of a start', () => {
  it('says that documents are still being read, and how many are not embedded, and where that is followed', () => {
    const screen = screenOf({ documents_reading: true, documents_unembedded: 81 });
    expect(screen).toContain('still being read');
    expect(screen).toContain('81 of the demo’s documents are not embedded yet');
    expect(screen).toContain('http://127.0.0.1:8080/api/v1/spaces/s/embedding');
  });

  it('says one of the two where the other is done, and nothing where both are', () => {
    expect(screenOf({ documents_reading: false, documents_unembedded: 3 })).not.toContain('being read');
    expect(screenOf({ documents_reading: true, documents_unembedded: 0 })).not.toContain('embedded');
    expect(screenOf({ documents_reading: false, documents_unembedded: 0 })).not.toMatch(/being read|embedd/);
  });
});
