/** Returns CLI commands for a pass, because the page itself is read-only if it was opened with a token. */
export function passCommands({ id, status }: { id: string; status: string }): string[] {
  const isVoid = status === 'VOID'
  return [
    `passes pass get ${id}`,
    `passes pass explain ${id}`,
    `passes pass wallets ${id}`,
    ...(isVoid
      ? []
      : [
          `passes notify ${id} --message "…"`,
          `passes pass rotate-code ${id}`,
          `passes pass revoke-links ${id}`,
          `passes pass void ${id} --reason "…"`,
        ]),
  ]
}

export function reverseCommand(scanId: string): string {
  return `passes scans reverse ${scanId} --reason "…"`
}

export function cancelCommand(passId: string, notificationId: string): string {
  return `passes notification cancel ${passId} ${notificationId}`
}

export function redeliverCommand(deliveryId: string): string {
  return `passes webhook redeliver ${deliveryId}`
}
