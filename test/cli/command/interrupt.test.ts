import { expect, test, vi } from 'vitest'
import { onInterrupt } from '../../../src/cli/command/program.ts'

test('the first Ctrl-C stops the command; the second exits at once with code 130 and a message', () => {
  // Other tests of this process might have left listeners that could end it.
  const others = process.listeners('SIGINT')
  process.removeAllListeners('SIGINT')
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never)
  const calls: string[] = []
  const interrupt = onInterrupt(
    () => calls.push('stop'),
    () => calls.push('end'),
  )
  process.emit('SIGINT')
  expect([calls, exit.mock.calls, interrupt.signal.aborted]).toEqual([['stop'], [], true])
  process.emit('SIGINT')
  expect([calls, exit.mock.calls]).toEqual([['stop', 'end'], [[130]]])
  interrupt[Symbol.dispose]()
  expect(process.listeners('SIGINT')).toEqual([])
  for (const other of others) process.on('SIGINT', other)
  exit.mockRestore()
})
