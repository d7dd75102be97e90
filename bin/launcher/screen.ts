import { styleText } from 'node:util';
import type { Demo } from './demo.ts';
import { NAMESPACE } from './temporal.ts';

export interface ScreenInput {
  gatewayPort: number;
  temporalUiUrl: string | undefined;
  demo: Demo | undefined;
  /** Where a browser signs in as one of the demo's users. */
  signInUrl: string | undefined;
  /** Seconds from the start until everything answered. */
  tookSeconds: number;
  stream: NodeJS.WriteStream;
}

const QUESTION = 'How does a response survive a worker crash?';

/** What to open and what to paste, once everything is ready. */
export function renderScreen(input: ScreenInput): string {
  const { gatewayPort, temporalUiUrl, signInUrl, demo, tookSeconds, stream } = input;
  const bold = (text: string): string => styleText('bold', text, { stream });
  const api = `http://127.0.0.1:${gatewayPort}/api`;
  const lines = [
    '',
    bold(`Ready after ${tookSeconds.toFixed(1)} s.`),
    '',
    `  API          ${api}`,
    `  API page     ${api}/docs`,
    `  Temporal UI  ${temporalUiUrl ?? 'of the server named by TEMPORAL_ADDRESS'}`,
    ...(temporalUiUrl === undefined ? [] : temporalLinks(temporalUiUrl)),
  ];
  if (demo) {
    const responses = `${api}/v1/spaces/${demo.spaceId}/responses`;
    const body = JSON.stringify({ input: { text: QUESTION }, stream: true });
    lines.push(
      `  Demo key     ${demo.apiKey}`,
      ...(signInUrl === undefined ? [] : [`  Sign in      ${signInUrl}`]),
      '',
      bold('Stream an answer:'),
      '',
      `curl -N ${responses} -H 'X-API-Key: ${demo.apiKey}' -H 'Content-Type: application/json' -d '${body}'`,
      '',
      bold('Read it back:'),
      '',
      `curl '${responses}?limit=1' -H 'X-API-Key: ${demo.apiKey}'`,
      ...documentsNote(demo, `${api}/v1/spaces/${demo.spaceId}/embedding`),
    );
  } else {
    lines.push('', 'An external database gets no demo data unless asked: npm start -- --demo');
  }
  lines.push('', 'Ctrl-C stops everything; the data stays.', '');
  return lines.join('\n');
}

/** What answers lack so far, and where to follow it; nothing once all documents are read and embedded. */
function documentsNote({ apiKey, isReading, unembedded }: Demo, progress: string): string[] {
  const notes = [
    ...(isReading ? ['The demo’s documents are still being read: answers may lack some of them.'] : []),
    ...(unembedded > 0
      ? [`${unembedded} of the demo’s documents are not embedded yet: they are found by their words only.`]
      : []),
  ];
  return notes.length === 0
    ? []
    : ['', ...notes, `How many are left: curl '${progress}' -H 'X-API-Key: ${apiKey}'`];
}

/** Temporal's list of runs with the filter set, among upkeep and everything else. */
function temporalLinks(uiUrl: string): string[] {
  const link = (query: string) =>
    `${uiUrl}/namespaces/${NAMESPACE}/workflows?query=${encodeURIComponent(query)}`;
  return [
    `  Responses    ${link('WorkflowType="generateResponse"')}`,
    `  Failures     ${link('ExecutionStatus="Failed"')}`,
  ];
}
