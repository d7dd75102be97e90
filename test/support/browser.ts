import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { Visitor } from './cookie-client.ts';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Where this machine has a browser, undefined where it has none. */
export function findBrowser(): string | undefined {
  return [process.env.CHROMIUM_PATH, ...places].find((path) => path !== undefined && existsSync(path));
}

/** A headless browser of this machine. */
export async function openBrowser(executablePath: string): Promise<Visitor> {
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  const page = await browser.newPage();
  return {
    open: async (url) => void (await page.goto(url)),
    press: async (text) => {
      await page.locator('form button', { hasText: text }).click();
      await page.waitForLoadState();
    },
    textOf: async (selector) => (await page.locator(selector).textContent({ timeout: 10_000 })) ?? '',
    url: () => page.url(),
    close: () => browser.close(),
  };
}
