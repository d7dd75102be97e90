import { parentPort, workerData } from 'node:worker_threads';
import { Defuddle } from 'defuddle/node';
import { parseHTML } from 'linkedom';

/**
 * Runs in a thread of its own: a hostile page keeps a processor busy or eats the heap, and the thread can be
 * ended. linkedom loads no resource; the readers that would ask other sites are off.
 */
const html = workerData as string;
const page = /<html[\s>]/i.test(html)
  ? html
  : `<!doctype html><html><head></head><body>${html}</body></html>`;
const { document } = parseHTML(page);
const main = await Defuddle(document as never, 'about:blank', {
  markdown: true,
  useAsync: false,
  removeImages: true,
  fetch: () => Promise.reject(new Error('Extraction does not use the network.')),
});
const title = main.title.replace(/\s+/g, ' ').trim();
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread has no origin
parentPort?.postMessage(title === '' ? main.content : `# ${title}\n\n${main.content}`);
