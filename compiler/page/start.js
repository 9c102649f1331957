makeTabs();
