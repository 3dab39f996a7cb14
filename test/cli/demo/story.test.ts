import { expect, test, vi } from 'vitest'
import { runDemo } from '../../../src/cli/demo/story.ts'
import { temporaryFolder } from '../../support/databases.ts'

const stop = vi.hoisted(() => vi.fn())

vi.mock('../../../src/cli/demo/scenes.ts', async (original) => ({
  ...(await original<object>()),
  startServer: async () => ({ url: 'http://127.0.0.1:9', token: 'token', stop }),
  runCommand: () => Promise.reject(new Error('a step fails')),
}))

vi.mock('../../../src/client/client.ts', () => ({
  createClient: () => ({ close: () => Promise.reject(new Error('the client does not close')) }),
}))

test('stops the server of the demo even if the client does not close', async () => {
  const run = runDemo({
    folder: temporaryFolder(),
    onStep: () => undefined,
    onPicture: () => undefined,
    drawing: { colorDepth: 1, width: 80 },
  })
  await expect(run).rejects.toThrow('the client does not close')
  expect(stop).toHaveBeenCalledOnce()
})
