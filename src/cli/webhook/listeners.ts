import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makePrivateFolder, replacePrivateSync } from '../../files/private-file.ts'

/** Where those who listen at this moment are reached on this machine: a file for each, under the number of its process. */

/** Returns what takes it back. */
export function announceListener(folder: string, url: string): () => void {
  const file = join(folder, String(process.pid))
  makePrivateFolder(folder)
  replacePrivateSync(file, url)
  return () => rmSync(file, { force: true })
}

/** The addresses of listeners. What a killed one left is cleared away. */
export function findListeners(folder: string): string[] {
  return filesIn(folder).flatMap((name) => {
    const file = join(folder, name)
    if (isRunning(Number(name))) return [readFileSync(file, 'utf8')]
    rmSync(file, { force: true })
    return []
  })
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
