addEventListener('load', () => {
  const link = document.querySelector('a[data-platform="apple"]')
  const isTablet = navigator.userAgent.includes('Macintosh') && navigator.maxTouchPoints > 1
  if (!link || !isTablet || history.state?.isSentOn) return
  history.replaceState({ isSentOn: true }, '')
  location.replace(link.href)
})
