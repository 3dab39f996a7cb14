import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * Returns the number of 2,048-bit RSA signatures per second that `openssl speed` makes in the given number of
 * processes.
 */
export async function signaturesASecond({ processes = 1, seconds = 1 } = {}): Promise<number> {
  const args = [
    'speed',
    '-seconds',
    String(seconds),
    ...(processes > 1 ? ['-multi', String(processes)] : []),
    'rsa2048',
  ]
  const { stdout } = await promisify(execFile)('openssl', args)
  const figures = /^rsa 2048 bits\s+\S+\s+\S+\s+([\d.]+)/m.exec(stdout)
  if (!figures) throw new Error(`openssl speed printed no figures for rsa 2048:\n${stdout}`)
  return Number(figures[1])
}
