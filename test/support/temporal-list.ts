import type { Browser } from 'playwright-core';
import { lookAt } from './page-look.ts';

/** What the list of Temporal UI shows. */
export interface ShownList {
  /** Its filters, such as `ExecutionStatus = Failed`. */
  filters: string[];
  rows: { status: string; workflowId: string; type: string }[];
  /** Errors of the page. */
  troubles: string[];
}

const filterText = /^(\w+ (?:=|!=|IN))\n(.+)$/gm;
const rowText = /^([A-Z][A-Za-z]+)\s*\n\t([^\t\n]+)\t[0-9a-f-]{36}\t(\w+)\t/gm;

/** Opens a link into the list of workflows, and waits for its first row. */
export async function listAt(browser: Browser, link: string): Promise<ShownList> {
  const { text, troubles } = await lookAt(browser, link, 'main tbody a');
  return {
    filters: [...text.matchAll(filterText)].map(([, operator, value]) => `${operator} ${value}`),
    rows: [...text.matchAll(rowText)].map(([, status = '', workflowId = '', type = '']) => ({
      status,
      workflowId,
      type,
    })),
    troubles,
  };
}

/** The links of a text with a filter in effect, by their labels. */
export function linksIn(text: string, pattern: RegExp): Map<string, string> {
  return new Map([...text.matchAll(pattern)].map(([, name = '', link = '']) => [name, link]));
}
