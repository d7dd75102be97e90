import type { Browser } from 'playwright-core';

/** The content of an opened page, and errors on the way. */
export interface Look {
  url: string;
  /** The visible text. */
  text: string;
  /** Errors of the console and of scripts, failed and refused requests. */
  troubles: string[];
  /** The page's Content-Security-Policy. */
  policy: string | undefined;
}

/** A page that takes three seconds alone may take far longer beside other tests. */
const maxWaitMs = 60_000;

/** Opens an address in a window of its own and waits for `selector`, the page's main content. */
export async function lookAt(browser: Browser, address: string, selector: string): Promise<Look> {
  const page = await browser.newPage();
  // Temporal's UI fetches news from its makers: external requests are ignored.
  await page.route(
    ({ hostname }) => hostname !== '127.0.0.1',
    (route) => route.fulfill({ status: 200, contentType: 'application/json', body: '{"items":[]}' }),
  );
  const troubles: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      troubles.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => troubles.push(`script: ${error.message}`));
  page.on('requestfailed', (request) =>
    troubles.push(`${request.url()}: ${request.failure()?.errorText ?? 'failed'}`),
  );
  page.on('response', (answer) => {
    if (answer.status() >= 400) troubles.push(`${answer.url()}: ${answer.status()}`);
  });
  try {
    const answer = await page.goto(address, { timeout: maxWaitMs });
    const found = await page
      .locator(selector)
      .first()
      .waitFor({ timeout: maxWaitMs })
      .then(
        () => true,
        () => false,
      );
    const text = await page.locator('body').innerText();
    if (!found) troubles.push(`nothing at ${selector} of ${page.url()}, which shows: ${text.slice(0, 200)}`);
    const policy = answer?.headers()['content-security-policy'];
    return { url: page.url(), text, troubles, policy };
  } finally {
    await page.close();
  }
}
